//! Batch: the items of a request, each parsed separately.
//!
//! In: a list as it was sent. Out: items; for an invalid one, the reason and its likely name.
//! Invariants: an invalid item does not affect the others; the schema is that of a valid item;
//! quotations of an item are short.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::memory::ItemError;
use crate::error::Code;

/// Longest name and message in a reply, in characters. A message quotes what was sent.
const MAX_CHARS: usize = 200;

/// Fields that name the subject of an item.
const NAMES: [&str; 6] =
    ["name", "entity_name", "entityName", "from_entity", "from", "short_title"];

/// An item of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<T> {
    /// A valid item.
    Whole(T),
    /// A field is missing or invalid.
    Unreadable {
        /// What was sent.
        sent: Value,
        /// What is wrong.
        why: String,
    },
}

impl<T> Item<T> {
    /// Returns the item, or the error that is returned in its place; `at` is its position in the
    /// list.
    ///
    /// # Errors
    /// If the item is invalid.
    pub fn read(self, at: usize) -> Result<T, ItemError> {
        let (sent, why) = match self {
            Item::Whole(whole) => return Ok(whole),
            Item::Unreadable { sent, why } => (sent, why),
        };
        let named = NAMES.iter().find_map(|name| sent.get(name).and_then(Value::as_str));
        Err(ItemError {
            name: named.map_or_else(|| format!("item {}", at + 1), shortened),
            code: Code::InvalidParams,
            message: shortened(&why),
            hint: Some("the others were done; send this one again with what it needs".into()),
        })
    }
}

fn shortened(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect()
}

impl<T> From<T> for Item<T> {
    fn from(whole: T) -> Self {
        Item::Whole(whole)
    }
}

impl<T: Serialize> Serialize for Item<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Item::Whole(whole) => whole.serialize(serializer),
            Item::Unreadable { sent, .. } => sent.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sent = Value::deserialize(deserializer)?;
        Ok(match T::deserialize(&sent) {
            Ok(whole) => Item::Whole(whole),
            Err(error) => Item::Unreadable { why: error.to_string(), sent },
        })
    }
}

impl<T: JsonSchema> JsonSchema for Item<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tool::memory::{CreateEntities, NewMemoryEntity};

    #[test]
    fn an_item_that_cannot_be_read_is_told_and_the_others_are_read() {
        let sent = json!({"entities": [
            {"name": "Ada", "entity_type": "person"}, {"name": "Bob"}, 7,
            {"name": "Cy", "entity_type": "person", "mood": "x"},
        ]});
        let request: CreateEntities = serde_json::from_value(sent.clone()).expect("read");
        assert_eq!(serde_json::to_value(&request).expect("written"), sent);
        let read: Vec<Result<NewMemoryEntity, (String, String)>> = request
            .entities
            .into_iter()
            .enumerate()
            .map(|(at, it)| it.read(at).map_err(|error| (error.name, error.message)))
            .collect();
        let ada = NewMemoryEntity {
            name: "Ada".into(),
            entity_type: "person".into(),
            ..NewMemoryEntity::default()
        };
        assert_eq!(read[0], Ok(ada));
        assert_eq!(read[1], Err(("Bob".into(), "missing field `entity_type`".into())));
        assert!(matches!(&read[2], Err((name, why)) if name == "item 3" && why.contains('7')));
        assert!(matches!(&read[3], Err((name, why)) if name == "Cy" && why.contains("`mood`")));
    }
}
