//! Models: renders `kgctl model list`.

use serde::Serialize;

use super::{Style, clean, table};

/// One embedding model.
#[derive(Debug, Clone, Serialize)]
pub struct ModelRow {
    /// Its name in `embed.model`.
    pub name: String,
    /// Whether it is in use.
    pub used: bool,
    /// Components of its vectors.
    pub dimensions: Option<usize>,
    /// Size of its files.
    pub bytes: Option<u64>,
    /// Built in, added, or broken and why.
    pub state: String,
    /// Where it came from.
    pub origin: String,
}

/// Renders every model with its size and state; the one in use has a star.
pub fn models(rows: &[ModelRow], style: Style) -> String {
    let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
    let row = |it: &ModelRow| {
        let name = if it.used { format!("{} *", it.name) } else { it.name.clone() };
        let dimensions = it.dimensions.map(|n| n.to_string()).unwrap_or_default();
        let size = it.bytes.map(megabytes).unwrap_or_default();
        [name, dimensions, size, it.state.clone(), it.origin.clone()]
            .map(|cell| clean(&cell).into_owned())
            .to_vec()
    };
    table(style, &["NAME", "DIMENSIONS", "MB", "STATE", "FROM"], rows.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_model_in_use_has_a_star() {
        let row = |name: &str, used, bytes| ModelRow {
            name: name.into(),
            used,
            dimensions: Some(384),
            bytes,
            state: "added".into(),
            origin: "/srv/model".into(),
        };
        expect![[r#"
            NAME     DIMENSIONS  MB    STATE  FROM
            a *      384               added  /srv/model
            b-small  384         23.4  added  /srv/model
        "#]]
        .assert_eq(&models(
            &[row("a", true, None), row("b-small", false, Some(23_400_000))],
            Style::terminal(false),
        ));
    }
}
