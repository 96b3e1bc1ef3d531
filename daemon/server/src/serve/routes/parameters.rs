//! Parameters: converts the arguments of a call to the struct that declares the tool.
//!
//! In: a JSON object. Out: the tool's parameters, or an `invalid_params` error that names the field
//! and lists the known ones.
//! Invariants: the caller's input is quoted only in part, however long it was.

use proto::error::{Code, ErrorView};
use proto::lenient::{nearest, own_name_of};
use proto::tool::Tool;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Longest part of serde's error message that is passed on, bytes; it quotes the value.
const MAX_COMPLAINT_BYTES: usize = 200;

/// Parses the parameters of a tool.
///
/// # Errors
/// `invalid_params`, naming the field that is missing, unknown or wrong.
pub(super) fn parse<T: Tool>(arguments: Map<String, Value>) -> Result<T, ErrorView> {
    let read =
        |arguments: Map<String, Value>| serde_json::from_value::<T>(Value::Object(arguments));
    let error = match read(arguments.clone()) {
        Ok(parameters) => return Ok(parameters),
        Err(error) => error.to_string(),
    };
    // serde reports what is wrong, but not where. Fields are read in order, so the field at fault
    // is the first one with which the same error appears.
    let mut so_far = Map::new();
    let at_fault = arguments.into_iter().find_map(|(name, value)| {
        so_far.insert(name.clone(), value);
        let found = read(so_far.clone()).err()?.to_string();
        (found == error).then_some(name)
    });
    Err(ErrorView::hinted(
        Code::InvalidParams,
        explain(T::NAME, &error, at_fault.as_deref()),
        hint::<T>(),
    ))
}

/// Parameters of basic-memory's tools without a counterpart, and what differs (`docs/src/how-to/basic-memory.md`).
const OF_OTHERS: [(&[&str], &str); 2] = [
    (
        &["valid_at", "valid_overlaps", "time_kind"],
        "times of validity are not read; `after_date` and `metadata_filters` narrow by dates",
    ),
    (&["workspace"], "projects are folders of this machine; `project` names one"),
];

fn explain(tool: &str, error: &str, at_fault: Option<&str>) -> String {
    let complaint = error.get(..error.floor_char_boundary(MAX_COMPLAINT_BYTES)).unwrap_or(error);
    if let Some(rest) = complaint.strip_prefix("missing field ") {
        return format!("`{tool}` needs the parameter {rest}");
    }
    match at_fault {
        Some(name) if complaint.starts_with("unknown field ") => {
            let name = name.get(..name.floor_char_boundary(MAX_COMPLAINT_BYTES)).unwrap_or(name);
            // Of two names of one parameter, the other one was taken.
            if let Some(own) = own_name_of(tool, name) {
                return format!("`{tool}`: `{name}` means `{own}`, which was given, too");
            }
            if let Some((_, why)) = OF_OTHERS.iter().find(|it| it.0.contains(&name)) {
                return format!("`{tool}` has no parameter `{name}`: {why}");
            }
            let meant = nearest(tool, name).map(|own| format!("; did you mean `{own}`?"));
            format!("`{tool}` has no parameter `{name}`{}", meant.unwrap_or_default())
        }
        Some(name) => format!("parameter `{name}` of `{tool}`: {complaint}"),
        None => format!("`{tool}`: {complaint}"),
    }
}

/// Lists all parameters of a tool, with the required ones marked.
fn hint<T: Tool>() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let fields = schema.get("properties").and_then(Value::as_object);
    let named: Vec<String> = fields
        .into_iter()
        .flat_map(|fields| fields.keys())
        .map(|name| format!("`{name}`{}", if is_required(name) { " (required)" } else { "" }))
        .collect();
    if named.is_empty() {
        "it takes no parameters".into()
    } else {
        format!("it takes {}", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proto::tool::core::{HybridQuery, Status};
    use serde_json::json;

    use super::*;

    fn check<T: Tool + std::fmt::Debug>(arguments: Value, expected: Expect) {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let out = match parse::<T>(arguments) {
            Ok(_) => "fine\n".to_string(),
            Err(error) => format!("{}\n", error.message),
        };
        expected.assert_eq(&out);
    }

    #[test]
    fn the_field_at_fault_is_named() {
        check::<HybridQuery>(
            json!({"q": "x", "k": 3}),
            expect![[r#"
            fine
        "#]],
        );
        check::<HybridQuery>(
            json!({"k": 3}),
            expect![[r#"
                `hybrid_query` needs the parameter `q`
            "#]],
        );
        check::<HybridQuery>(
            json!({"q": "x", "k": -1}),
            expect![[r#"
                parameter `k` of `hybrid_query`: invalid value: integer `-1`, expected u32
            "#]],
        );
        check::<HybridQuery>(
            json!({"k": "x", "hops": "x", "q": 1}),
            expect![[r#"
                parameter `k` of `hybrid_query`: invalid type: string "x", expected u32
            "#]],
        );
        check::<HybridQuery>(
            json!({"qurey": "x"}),
            expect![[r#"
                `hybrid_query` has no parameter `qurey`; did you mean `query`?
            "#]],
        );
        check::<HybridQuery>(
            json!({"q": "x", "query": "y"}),
            expect![[r#"
                `hybrid_query`: `query` means `q`, which was given, too
            "#]],
        );
        check::<Status>(
            json!({"x": 1}),
            expect![[r#"
                `status` has no parameter `x`
            "#]],
        );
    }

    #[test]
    fn a_long_value_is_quoted_in_part() {
        let long = "ä".repeat(100_000);
        let error = parse::<HybridQuery>(Map::from_iter([("k".to_string(), json!(long))]));
        let error = error.expect_err("wrong type");
        assert!(error.message.len() < 300, "{}", error.message.len());
    }
}
