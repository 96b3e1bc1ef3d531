//! Note: converts one entity of a memory to a Markdown note, and back.
//!
//! In: an entity and its relations. Out: front matter with `title` and `type`, observations as `- [note] text ^o1`,
//! relations as `- type [[Name]]`.
//! Invariants: [`entity`] and [`relation`] read back what is written, character for character; ordinals are block ids
//! that no later observation reuses. What one form of the note cannot express (a name with surrounding blanks, a type
//! of five words) is written in another form that can, never changed: every line is read back before it is used.

use notes::edit::{EditError, NewNote, render_new};
use notes::parse::Note;
use notes::plain;
use serde_json::Map;

use super::Entity;

pub use notes::memory::{
    CATEGORY, EXACT_NAME, EXACT_TYPE, OBSERVATIONS, RELATIONS, is_a_title, quoted,
    relation_item as relation, relations, stated_fact, stated_name, stated_node_type, stated_type,
    title_of,
};

/// Renders the note of an entity; `relations` are items without marker.
///
/// # Errors
/// [`EditError`], in no known case.
pub fn render(entity: &Entity, relations: &[String]) -> Result<String, EditError> {
    let mut metadata = Map::new();
    // Front matter has the exact name only if the title cannot express it.
    let title = if is_a_title(&entity.name) {
        entity.name.clone()
    } else {
        metadata.insert(EXACT_NAME.to_string(), quoted(&entity.name));
        title_of(&entity.name)
    };
    let note_type = if is_a_title(&entity.entity_type) {
        entity.entity_type.clone()
    } else {
        metadata.insert(EXACT_TYPE.to_string(), quoted(&entity.entity_type));
        CATEGORY.to_string()
    };
    let mut content = String::new();
    if !entity.observations.is_empty() {
        content += &format!("## {OBSERVATIONS}\n\n");
        for (idx, text) in entity.observations.iter().enumerate() {
            content += &format!("- {} ^o{}\n", observation(text), idx + 1);
        }
    }
    if !relations.is_empty() {
        let gap = if content.is_empty() { "" } else { "\n" };
        content += &format!("{gap}## {RELATIONS}\n\n");
        relations.iter().for_each(|item| content += &format!("- {item}\n"));
    }
    render_new(&NewNote { title, note_type: Some(note_type), tags: Vec::new(), metadata, content })
}

/// Returns an observation as the text of an item, without its id.
pub fn observation(text: &str) -> String {
    format!("[{CATEGORY}] {}", plain::encoded(text))
}

/// Returns the entity of a note; `stem` is its name if it has no title.
pub fn entity(note: &Note, stem: &str) -> Entity {
    let values = note.frontmatter.as_ref().map(|it| &it.values);
    let value = |key: &str| values.and_then(|values| values.get(key));
    let facts = note
        .observations
        .iter()
        .map(|it| stated_fact(&it.category, &it.content, &it.tags, it.context.as_deref()));
    Entity {
        name: stated_name(value(EXACT_NAME), note.title.as_deref())
            .unwrap_or_else(|| note.title_or(stem).to_string()),
        entity_type: stated_node_type(value(EXACT_TYPE), note.note_type.as_deref())
            .unwrap_or_else(|| CATEGORY.to_string()),
        observations: facts.collect(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use notes::parse::parse;
    use proptest::prelude::*;

    use super::*;

    fn check(entity_in: &Entity, relation_type: &str) {
        let item = relation(relation_type, &entity_in.name, Some("memory/some-name"));
        let item = item.expect("a path can always be a link");
        let text = render(entity_in, std::slice::from_ref(&item)).expect("a note");
        let note = parse(&text);
        assert_eq!(&entity(&note, "stem"), entity_in, "{text}");
        let [(found, target)] = relations(&note).try_into().expect("one relation");
        assert_eq!(
            (found.as_str(), target.as_str()),
            (relation_type, "memory/some-name"),
            "{text}"
        );
        let headings: Vec<&str> = note.headings.iter().map(|it| it.text.as_str()).collect();
        let n = usize::from(entity_in.observations.is_empty());
        assert_eq!(headings, &[OBSERVATIONS, RELATIONS][n..], "{text}");
        let ids: Vec<String> = note.block_ids.iter().map(|it| it.id.clone()).collect();
        let expected: Vec<String> =
            (1..=entity_in.observations.len()).map(|n| format!("o{n}")).collect();
        assert_eq!(ids, expected, "{text}");
        let warning = note.frontmatter.as_ref().and_then(|it| it.warning.clone());
        assert_eq!((warning, note.tags.len(), note.links.len()), (None, 0, 1), "{text}");
    }

    #[test]
    fn an_ordinary_entity_is_an_ordinary_note() {
        let entity = Entity {
            name: "Ada Lovelace".into(),
            entity_type: "person".into(),
            observations: vec!["Wrote notes on the Engine".into(), "Born 1815\nin London".into()],
        };
        let items = [relation("worked_with", "Charles Babbage", None).expect("an item")];
        expect![[r#"
            ---
            title: Ada Lovelace
            type: person
            ---

            ## Observations

            - [note] Wrote notes on the Engine ^o1
            - [note] Born 1815&#10;in London ^o2

            ## Relations

            - worked_with [[Charles Babbage]]
        "#]]
        .assert_eq(&render(&entity, &items).expect("a note"));
        check(&entity, "knows");
    }

    #[test]
    fn relations_are_written_so_that_they_are_read_as_they_were() {
        let rows = [
            ("knows", "Bob", Some("knows [[Bob]]")),
            (
                "is a very good friend of",
                "Bob",
                Some("related_to [[Bob]] (type: is a very good friend of)"),
            ),
            ("Create", "Bob", Some("related_to [[Bob]] (type: Create)")),
            ("", "Bob", Some("related_to [[Bob]] (type: <!-- -->)")),
            ("a (b) #c\n", "Bob", Some("related_to [[Bob]] (type: a &#40;b&#41; \\#c&#10;)")),
            ("knows", "B[o]b|x#y", None),
            ("knows", " Bob ", None),
            ("knows", "C#", None),
            ("knows", "", None),
            ("knows", "a\nb", None),
        ];
        for (relation_type, name, expected) in rows {
            assert_eq!(relation(relation_type, name, None).as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn names_and_types_that_yaml_would_change_come_back() {
        for name in [
            "yes",
            "1",
            "2024-01-01",
            " x ",
            "a  b",
            "",
            "null",
            "a: b",
            "- x",
            "[[a]]",
            "\"q\"",
            "x\n---\ny",
            "007",
            "~",
            "#tag",
            "'",
            "%",
            "&a",
            "*a",
            "!t",
            "2024-01-15 10:30:00",
            "true",
            "title: x",
            "a\tb",
            "\u{85}",
            "e\u{301}",
            "CON",
            "../../x",
            "\u{feff}x",
            "0x1f",
            "1e3",
            ".inf",
        ] {
            let entity = Entity {
                name: name.into(),
                entity_type: name.into(),
                observations: vec![name.into(), format!("{name} ^o1")],
            };
            check(&entity, name);
        }
        let long = "x y".repeat(200);
        check(
            &Entity { name: long.clone(), entity_type: long.clone(), observations: vec![] },
            &long,
        );
    }

    proptest! {
        #[test]
        fn any_entity_comes_back(
            name in r"[ -~]{0,30}|\PC{0,20}|[\x00-\x7f]{0,12}",
            entity_type in r"[ -~]{0,12}|\PC{0,12}|[a-z]{1,8}",
            observations in prop::collection::vec(r"[ -~]{0,40}|\PC{0,20}|[\x00-\x7f]{0,20}", 0..4),
            relation_type in r"[a-z_ ]{0,20}|[ -~]{0,20}|\PC{0,12}",
        ) {
            check(&Entity { name, entity_type, observations }, &relation_type);
        }
    }
}
