//! Same: finds the entities of different projects that are one entity.
//!
//! In: the entities of an answer, each with its project, and what people have stated
//! (`kgctl hub same-as`), in the file that a hub's front end keeps. Out: the field `same_as` of
//! each.
//! Invariants: two entities are the same if their names and types are, or if somebody stated it.
//! This is computed for each answer, and nothing merged is stored. The file has only what the
//! caller may see.

use std::path::Path;

use serde_json::{Value, json};

use super::served::Served;

/// Most rows for one entity.
const MOST: usize = 10;

/// An entity of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    project: String,
    name: String,
    /// `None` if only a statement names it.
    kind: Option<String>,
    also: Vec<String>,
}

impl Named {
    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_string);
        let aliases = value.get("aliases").and_then(Value::as_array).into_iter().flatten();
        let also = aliases.filter_map(Value::as_str).map(str::to_string).collect();
        Some(Named { project: text("project")?, name: text("name")?, kind: text("type"), also })
    }

    fn names(&self) -> impl Iterator<Item = String> {
        std::iter::once(&self.name).chain(&self.also).map(|name| norm(name))
    }

    fn is_at(&self, other: &Named) -> bool {
        self.project == other.project && self.names().any(|it| other.names().any(|name| it == name))
    }
}

/// What people have stated to be the same.
#[derive(Debug, Default)]
pub(super) struct Statements(Vec<[Named; 2]>);

/// Returns folded letters and digits, with the signs that distinguish C, C++ and C#.
fn norm(name: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '+' | '#');
    names::fold(name).chars().filter(kept).collect()
}

impl Statements {
    /// Reads the file: `[["project", "name", "other project", "other name"], …]`.
    pub(super) fn read(file: &Path, served: &Served) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let rows: Vec<[String; 4]> = serde_json::from_str(&text).unwrap_or_default();
        // A session serves the projects of its start, which may be fewer than the caller may see
        // now.
        let is_served = |name: &str| served.names().any(|it| it == name);
        let named = |project, name| Named { project, name, kind: None, also: Vec::new() };
        let pairs = rows.into_iter().filter(|[a, _, b, _]| is_served(a) && is_served(b));
        Statements(pairs.map(|[a, name, b, other]| [named(a, name), named(b, other)]).collect())
    }

    /// Returns the entities stated to be this one, directly or through others.
    fn partners(&self, of: &Named) -> Vec<&Named> {
        let mut found: Vec<&Named> = Vec::new();
        loop {
            let next = self.0.iter().flat_map(|[a, b]| [(a, b), (b, a)]).find(|(from, to)| {
                let is_known =
                    |it: &Named| of.is_at(it) || found.iter().any(|known| known.is_at(it));
                is_known(from) && !is_known(to)
            });
            match next {
                Some((_, to)) => found.push(to),
                None => return found,
            }
        }
    }

    /// Adds `same_as` to the entities of a list.
    pub(super) fn mark(&self, list: &mut [Value]) {
        let all: Vec<Option<Named>> = list.iter().map(Named::of).collect();
        for (value, own) in list.iter_mut().zip(&all) {
            let Some(own) = own else { continue };
            let is_like = |it: &&Named| {
                it.project != own.project
                    && it.kind == own.kind
                    && norm(&it.name) == norm(&own.name)
            };
            let mut same: Vec<&Named> = all.iter().flatten().filter(is_like).collect();
            for partner in self.partners(own) {
                if !same.iter().any(|it| it.is_at(partner)) {
                    same.push(partner);
                }
            }
            if !same.is_empty() {
                value["same_as"] = rows(&same);
            }
        }
    }

    /// Adds `same_as` to what one project knows about an entity, and to its text.
    pub(super) fn mark_one(&self, result: &mut Value, project: &str) {
        let Some(entity) = result.pointer("/structuredContent/entity") else { return };
        let mut entity = entity.clone();
        entity["project"] = project.into();
        let Some(own) = Named::of(&entity) else { return };
        let partners = self.partners(&own);
        if partners.is_empty() {
            return;
        }
        let rows = rows(&partners);
        let line = line(&rows);
        result["structuredContent"]["same_as"] = rows;
        if let Some(text) = result.pointer_mut("/content/0/text")
            && let Some(body) = text.as_str()
            && !body.starts_with('{')
        {
            *text = format!("{body}\n{}", line.unwrap_or_default()).into();
        }
    }
}

fn rows(same: &[&Named]) -> Value {
    same.iter().take(MOST).map(|it| json!({"project": it.project, "name": it.name})).collect()
}

/// Renders `same as: [beta] Key Store`.
pub(super) fn line(rows: &Value) -> Option<String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_string();
    let named = |row: &Value| format!("[{}] {}", text(row, "project"), text(row, "name"));
    let named: Vec<String> = rows.as_array()?.iter().map(named).collect();
    let line = format!("same as: {}", named.join(", "));
    (!named.is_empty()).then(|| crate::render::clean(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use config::Project;

    use super::*;

    #[test]
    fn entities_are_the_same_by_name_and_type_or_by_what_is_stated() {
        let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
        let served = Served::new(&["a", "b", "c"].map(project)).expect("distinct");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("same_as.json");
        let rows = r#"[["a","Key Store","b","Vault"],["b","vault","c","Safe"],["a","Key Store","hidden","X"]]"#;
        std::fs::write(&file, rows).expect("written");
        let statements = Statements::read(&file, &served);
        let entity = |project: &str, name: &str, kind: &str| json!({"project": project, "name": name, "type": kind});
        let mut list = vec![
            entity("a", "Key Store", "Service"),
            entity("b", "key-store", "Service"),
            entity("c", "Key Store", "Person"),
            entity("c", "Safe", "Service"),
        ];
        statements.mark(&mut list);
        let shown: Vec<String> = list
            .iter()
            .map(|it| format!("{} {}: {}", it["project"], it["name"], it["same_as"]))
            .collect();
        expect_test::expect![[r#"
            "a" "Key Store": [{"project":"b","name":"key-store"},{"project":"b","name":"Vault"},{"project":"c","name":"Safe"}]
            "b" "key-store": [{"project":"a","name":"Key Store"}]
            "c" "Key Store": null
            "c" "Safe": [{"project":"b","name":"vault"},{"project":"a","name":"Key Store"}]"#]]
        .assert_eq(&shown.join("\n"));
        let mut one = json!({"content": [{"type": "text", "text": "Vault"}],
                             "structuredContent": {"entity": {"name": "Vault"}}});
        statements.mark_one(&mut one, "b");
        assert_eq!(one["content"][0]["text"], "Vault\nsame as: [a] Key Store, [c] Safe");
    }
}
