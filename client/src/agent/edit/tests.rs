//! What comes into a file and goes out of it, and that everything else stays.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

const JSON: Place<'_> = Place { format: Format::Json, list: "mcpServers", name: "kgd-notes" };
const TOML: Place<'_> = Place { format: Format::Toml, list: "mcp_servers", name: "kgd-notes" };

fn fields() -> Map<String, Value> {
    let fields =
        json!({ "command": "kg-mcp", "args": ["--project", "notes"], "env": { "A": "b" } });
    fields.as_object().cloned().expect("an object")
}

fn check(place: Place<'_>, before: &str, expected: Expect) {
    let after = place.put(before, &fields()).expect("changed");
    expected.assert_eq(&after);
    assert_eq!(
        place.put(&after, &fields()).as_deref(),
        Ok(&*after),
        "a second time changes nothing"
    );
}

#[test]
fn an_empty_file_becomes_one_with_the_entry() {
    check(
        JSON,
        "",
        expect![[r#"
        {
          "mcpServers": {
            "kgd-notes": {
              "command": "kg-mcp",
              "args": ["--project", "notes"],
              "env": {
                "A": "b"
              }
            }
          }
        }
    "#]],
    );
    check(
        TOML,
        "",
        expect![[r#"
        [mcp_servers.kgd-notes]
        command = "kg-mcp"
        args = ["--project", "notes"]
        env = { A = "b" }
    "#]],
    );
}

#[test]
fn comments_commas_and_indentation_stay() {
    check(
        JSON,
        r#"// Mine.
{
    "theme": "x", // dark
    "mcpServers": {
        "other": { "command": "y" }, /* kept */
        // "old": {},
    },
    "last": [1,2],
}
"#,
        expect![[r#"
    // Mine.
    {
        "theme": "x", // dark
        "mcpServers": {
            "other": { "command": "y" }, /* kept */
            // "old": {},
            "kgd-notes": {
                "command": "kg-mcp",
                "args": ["--project", "notes"],
                "env": {
                    "A": "b"
                }
            },
        },
        "last": [1,2],
    }
"#]],
    );
    check(
        TOML,
        "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = 'y'\n\n[tui]\na =   1\n",
        expect![[r#"
        model = "x" # mine

        [mcp_servers.other]
        command = 'y'

        [mcp_servers.kgd-notes]
        command = "kg-mcp"
        args = ["--project", "notes"]
        env = { A = "b" }

        [tui]
        a =   1
    "#]],
    );
}

#[test]
fn an_entry_of_the_same_name_keeps_what_is_not_ours() {
    check(
        JSON,
        r#"{
  "mcpServers": {
    "kgd-notes": { "command": "old", "args": ["--project", "notes"], "timeout": 5, "env": { "MINE": "1" } }
  }
}
"#,
        expect![[r#"
    {
      "mcpServers": {
        "kgd-notes": { "command": "kg-mcp", "args": ["--project", "notes"], "timeout": 5, "env": { "MINE": "1", "A": "b" } }
      }
    }
"#]],
    );
    check(
        TOML,
        "[mcp_servers.kgd-notes]\n# slow\nstartup_timeout_sec = 20\ncommand = \"old\"\n",
        expect![[r#"
        [mcp_servers.kgd-notes]
        # slow
        startup_timeout_sec = 20
        command = "kg-mcp"
        args = ["--project", "notes"]
        env = { A = "b" }
    "#]],
    );
}

/// Every layout that matters: what is put in and taken out again leaves no trace.
#[test]
fn taking_out_gives_back_the_text() {
    let mut n_checked = 0;
    for indent in ["  ", "    ", "\t"] {
        for newline in ["\n", "\r\n"] {
            for comma in ["", ","] {
                for note in ["", " // note", " /* , */"] {
                    for n_others in 0..3 {
                        let others = (0..n_others)
                            .map(|i| format!("\n\t\t\"s{i}\": {{ \"command\": \"}},{{\" }}"));
                        let mut others = others.collect::<Vec<_>>().join(&format!(",{note}"));
                        if n_others > 0 {
                            others = format!("{others}{comma}{note}\n\t");
                        }
                        let text = format!(
                            "{{\n\t\"a\": [1,  2],{note}\n\t\"mcpServers\": {{{others}}}{comma}{note}\n}}"
                        );
                        let text = text.replace('\t', indent).replace('\n', newline);
                        let after = JSON.put(&text, &fields()).expect(&text);
                        assert!(
                            newline == "\n" || !after.replace("\r\n", "").contains('\n'),
                            "{after:?}"
                        );
                        assert_eq!(JSON.remove(&after), Ok(Some(text.clone())), "{after}");
                        n_checked += 1;
                    }
                }
            }
        }
    }
    assert_eq!(n_checked, 108);
    for text in [
        r#"{"mcpServers":{"a":{"command":"b"}}}"#,
        "{\n  \"mcpServers\": {}\n}",
        "{ \"mcpServers\": { \"a\": {} }, \"b\": 1 }\n",
    ] {
        let after = JSON.put(text, &fields()).expect(text);
        assert_eq!(JSON.remove(&after), Ok(Some(text.into())), "{after}");
    }
    for text in [
        "[mcp_servers.a]\ncommand = 'x'\n",
        "[mcp_servers.a]\r\ncommand = 'x' # y\r\n\r\n[b]\r\nc  = 1\r\n",
        "a = 1\n\n[b]\nc = 1\n\n# the end\n",
        "",
    ] {
        let after = TOML.put(text, &fields()).expect(text);
        assert_eq!(TOML.remove(&after), Ok(Some(text.into())), "{after}");
    }
}

#[test]
fn an_entry_in_the_middle_goes_alone() {
    let json = "{\n  \"mcpServers\": {\n    \"a\": {}, // of a\n    \"kgd-notes\": {},\n    \"b\": {}\n  }\n}\n";
    let left = "{\n  \"mcpServers\": {\n    \"a\": {}, // of a\n    \"b\": {}\n  }\n}\n";
    assert_eq!(JSON.remove(json), Ok(Some(left.into())));
    assert_eq!(JSON.remove(left), Ok(None));
    let toml = "[mcp_servers.kgd-notes]\ncommand = 'x'\n[mcp_servers.kgd-notes.env]\nA = 'b'\n\n# of b\n[b]\n";
    assert_eq!(TOML.remove(toml), Ok(Some("\n# of b\n[b]\n".into())));
    assert_eq!(TOML.remove("a = 1\n"), Ok(None));
}

#[test]
fn what_is_not_understood_is_not_changed() {
    let refused = |place: Place<'_>, text: &str| {
        assert!(place.remove(text).is_err() || place.entries(text).is_ok(), "{text}");
        place.put(text, &fields()).expect_err(text).to_string()
    };
    assert_eq!(refused(JSON, "{\n  \"a\": 1\n  \"b\": 2\n}"), "line 2, column 9: Expected comma");
    assert_eq!(refused(TOML, "a = 1\nb = = 2\n"), "line 2, column 5: extra `=`, expected nothing");
    for text in ["[]", "{ \"mcpServers\": [] }", "{ \"mcpServers\": { \"kgd-notes\": 1 } }"] {
        assert!(refused(JSON, text).contains("cannot be changed safely"), "{text}");
    }
    // Which of two would count differs between parsers.
    let twice = "{ \"mcpServers\": {}, \"mcpServers\": { \"a\": {} } }";
    assert!(refused(JSON, twice).contains("cannot be changed safely"));
    assert!(refused(TOML, "mcp_servers = 1\n").contains("cannot be changed safely"));
}
