//! Unknown: the error for a tool that a session does not have.
//!
//! In: a name, the session's sets. Out: the set that has the tool and how to get it, else the tool
//! with the nearest name, and the available ones.

use proto::catalog::{CATALOG, Entry};
use proto::lenient::is_near;
use proto::tool::ToolSet;

/// Returns message and hint; `offers` returns whether the session lists a tool. A front end of a
/// hub is not `is_whole`: more sets add no tools there.
pub(super) fn message(
    name: &str,
    sets: &[ToolSet],
    is_whole: bool,
    offers: impl Fn(&Entry) -> bool,
) -> String {
    let known: Vec<&Entry> = CATALOG.iter().filter(|entry| offers(entry)).collect();
    let listed: Vec<String> = known.iter().map(|entry| format!("`{}`", entry.name)).collect();
    let listed = listed.join(", ");
    // Tools for `kgctl` are not for agents.
    let is_other = |it: &&Entry| is_whole && it.set != ToolSet::Admin && !sets.contains(&it.set);
    let others = || CATALOG.iter().filter(is_other);
    let switched_on = |entry: &Entry| {
        let sets = sets.iter().chain([&entry.set]).map(|it| it.as_str());
        format!("`kg-mcp --tools {}` has it", sets.collect::<Vec<_>>().join(","))
    };
    if let Some(entry) = others().find(|it| it.name == name) {
        let set = entry.set.as_str();
        return format!(
            "no tool is called `{name}` here: it is in the set `{set}`\nhint: {}; this session has {listed}",
            switched_on(entry)
        );
    }
    let near = |entry: &&Entry| is_near(name, entry.name);
    let meant = match (known.into_iter().find(near), others().find(near)) {
        (Some(entry), _) => format!("; did you mean `{}`?", entry.name),
        (None, Some(entry)) => {
            format!("; did you mean `{}`? {}", entry.name, switched_on(entry))
        }
        (None, None) => String::new(),
    };
    format!("no tool is called `{name}`{meant}\nhint: this session has {listed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_tool_and_the_set_of_another_are_named() {
        let first_line = |name: &str| {
            let text = super::message(name, &[ToolSet::Core], true, |it| it.set == ToolSet::Core);
            text.lines().next().unwrap_or_default().to_string()
        };
        for (name, expected) in [
            ("hybrid_qeury", "no tool is called `hybrid_qeury`; did you mean `hybrid_query`?"),
            ("kb_store", "no tool is called `kb_store` here: it is in the set `kb`"),
            (
                "kb_stor",
                "no tool is called `kb_stor`; did you mean `kb_store`? `kg-mcp --tools core,kb` has it",
            ),
            ("sing_a_song", "no tool is called `sing_a_song`"),
        ] {
            assert_eq!(first_line(name), expected);
        }
    }
}
