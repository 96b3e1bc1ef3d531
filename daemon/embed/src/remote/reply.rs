//! Reply: parses the replies of embedding servers.
//!
//! In: the bytes of a reply. Out: vectors in the order of the texts, or an error.
//! Invariants: one vector per text, of finite numbers.

use config::settings::RemoteApi;
use serde::Deserialize;

#[derive(Deserialize)]
struct OpenAi {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Ollama {
    embeddings: Vec<Vec<f32>>,
}

/// Returns the vectors of a reply to `n_texts` texts.
///
/// # Errors
/// What is wrong with the reply, in words.
pub(super) fn vectors(
    api: RemoteApi,
    bytes: &[u8],
    n_texts: usize,
) -> Result<Vec<Vec<f32>>, String> {
    let vectors = match api {
        RemoteApi::Ollama => {
            serde_json::from_slice::<Ollama>(bytes).map_err(|error| error.to_string())?.embeddings
        }
        RemoteApi::Openai => {
            let reply: OpenAi = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
            in_order(reply.data)?
        }
    };
    if vectors.len() != n_texts {
        return Err(format!("{} vectors for {n_texts} texts", vectors.len()));
    }
    match vectors.iter().flatten().all(|number| number.is_finite()) {
        // A vector of zeros is useless, and would replace the static one.
        true if vectors.iter().any(|vector| vector.iter().all(|number| *number == 0.0)) => {
            Err("a vector is all zeros".to_string())
        }
        true => Ok(vectors),
        false => Err("a vector contains a value that is not a number".to_string()),
    }
}

/// Sorts the vectors by their index, or keeps their order if they have none.
fn in_order(items: Vec<Item>) -> Result<Vec<Vec<f32>>, String> {
    let n_items = items.len();
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; n_items];
    for (at, item) in items.into_iter().enumerate() {
        let index = item.index.unwrap_or(at);
        let slot = vectors.get_mut(index).filter(|slot| slot.is_none());
        *slot.ok_or(format!("number {index} among {n_items} vectors"))? = Some(item.embedding);
    }
    Ok(vectors.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn replies_by_eye() {
        let openai = |text: &str, n| vectors(RemoteApi::Openai, text.as_bytes(), n);
        let ollama = |text: &str, n| vectors(RemoteApi::Ollama, text.as_bytes(), n);
        let turned =
            r#"{"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1, 0.5]}]}"#;
        assert_eq!(openai(turned, 2), Ok(vec![vec![1.0, 0.5], vec![2.0]]));
        assert_eq!(openai(r#"{"data": [{"embedding": [1]}]}"#, 1), Ok(vec![vec![1.0]]));
        assert_eq!(
            ollama(r#"{"embeddings": [[1], [2]], "model": "m"}"#, 2),
            Ok(vec![vec![1.0], vec![2.0]])
        );
        for garbage in [
            "",
            "null",
            "<html>",
            "{}",
            r#"{"data": [{}]}"#,
            r#"{"data": [{"embedding": ["x"]}]}"#,
            r#"{"data": []}"#,
            r#"{"data": [{"index": 5, "embedding": [1]}]}"#,
            r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#,
            r#"{"data": [{"embedding": [1e999]}]}"#,
            r#"{"data": [{"embedding": [0, 0.0]}]}"#,
        ] {
            assert!(openai(garbage, 1).is_err(), "{garbage}");
            assert!(ollama(garbage, 1).is_err(), "{garbage}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), n in 0usize..4) {
            let _ = (vectors(RemoteApi::Openai, &bytes, n), vectors(RemoteApi::Ollama, &bytes, n));
        }
    }
}
