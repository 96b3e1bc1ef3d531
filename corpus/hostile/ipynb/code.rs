//! Doc.
/* block /* nested */ "str //" */
fn main() { let s = r#"a"b"#; 'x' /// doc
} // key = "value"
