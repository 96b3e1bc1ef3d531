//! Canvas: draws the most related entities for Obsidian.
//!
//! Facts (JSON Canvas 1.0, jsoncanvas.org): `nodes` have `id`, `type`, `x`, `y`, `width`, `height` (whole pixels), and
//! `file` (a path in the vault) or `text` (Markdown); `edges` have `id`, `fromNode`, `toNode`, and may have `fromSide`,
//! `toSide` and `label`; colors are `"1"` to `"6"`.
//! Decisions: rings around the entity with the most relations, sorted by the number of relations, so that the same
//! graph always gives the same drawing; a program with a layout of its own can move the cards.
//! Invariant: at most as many entities as requested; the number left out is returned.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use notes::plain;
use serde_json::{Value, json};

use super::super::graph::{Entity, Graph, Relation};
use super::Written;

/// Entities drawn by default: more are no longer readable.
pub const DEFAULT_LIMIT: usize = 200;

/// Size of a card, and the gap between rings, in pixels.
const WIDTH: i64 = 260;
const HEIGHT: i64 = 100;
const GAP: f64 = 140.0;

pub(super) fn write(graph: &Graph, limit: usize, out: &mut dyn Write) -> io::Result<Written> {
    let mut degrees: BTreeMap<i64, usize> = BTreeMap::new();
    for it in &graph.relations {
        *degrees.entry(it.subject_id).or_default() += 1;
        *degrees.entry(it.object_id).or_default() += 1;
    }
    let degree = |it: &Entity| degrees.get(&it.id).copied().unwrap_or(0);
    let mut chosen: Vec<&Entity> = graph.entities.iter().collect();
    // Entities with the most relations first, then those in more documents; the stable sort keeps the dump's order by
    // name.
    chosen.sort_by_key(|it| (std::cmp::Reverse(degree(it)), std::cmp::Reverse(it.documents)));
    chosen.truncate(limit);
    let drawn: BTreeSet<i64> = chosen.iter().map(|it| it.id).collect();
    let is_drawn = |it: &&Relation| drawn.contains(&it.subject_id) && drawn.contains(&it.object_id);
    let relations: Vec<&Relation> = graph.relations.iter().filter(is_drawn).collect();

    out.write_all(b"{\"nodes\":[\n")?;
    let places = rings(chosen.len());
    let places_of: BTreeMap<i64, (i64, i64)> =
        chosen.iter().zip(&places).map(|(it, place)| (it.id, *place)).collect();
    items(out, chosen.iter().zip(&places).map(|(it, (x, y))| node(it, *x, *y)))?;
    out.write_all(b"\n],\"edges\":[\n")?;
    items(out, relations.iter().enumerate().map(|(idx, it)| edge(idx, it, &places_of)))?;
    out.write_all(b"\n]}\n")?;
    Ok(Written {
        n_entities: chosen.len(),
        n_relations: relations.len(),
        n_entities_left: graph.entities.len() - chosen.len(),
        n_relations_left: graph.relations.len() - relations.len(),
    })
}

fn items(out: &mut dyn Write, items: impl Iterator<Item = Value>) -> io::Result<()> {
    for (idx, item) in items.enumerate() {
        let gap = if idx == 0 { "" } else { ",\n" };
        write!(out, "{gap}{item}")?;
    }
    Ok(())
}

fn node(it: &Entity, x: i64, y: i64) -> Value {
    let mut node = json!({"id": format!("n{}", it.id)});
    match &it.home {
        Some(home) => {
            node["type"] = "file".into();
            node["file"] = home.as_str().into();
        }
        None => {
            node["type"] = "text".into();
            let name = plain::encoded(&it.name);
            node["text"] = format!("**{name}**\n{}", plain::encoded(&it.entity_type)).into();
        }
    }
    for (key, value) in [("x", x), ("y", y), ("width", WIDTH), ("height", HEIGHT)] {
        node[key] = value.into();
    }
    if let Some(color) = color(&it.entity_type) {
        node["color"] = color.into();
    }
    node
}

fn edge(idx: usize, it: &Relation, places: &BTreeMap<i64, (i64, i64)>) -> Value {
    let at = |id: i64| places.get(&id).copied().unwrap_or_default();
    let (from, to) = (at(it.subject_id), at(it.object_id));
    // Sides that face each other, so that lines do not cross their own cards.
    let sides = if (to.0 - from.0).abs() >= (to.1 - from.1).abs() {
        if to.0 >= from.0 { ["right", "left"] } else { ["left", "right"] }
    } else if to.1 >= from.1 {
        ["bottom", "top"]
    } else {
        ["top", "bottom"]
    };
    json!({
        "id": format!("e{idx}"), "fromNode": format!("n{}", it.subject_id), "fromSide": sides[0],
        "toNode": format!("n{}", it.object_id), "toSide": sides[1], "label": it.predicate,
    })
}

fn color(entity_type: &str) -> Option<&'static str> {
    Some(match entity_type {
        "Person" => "1",
        "Organization" => "2",
        "Event" | "Date" => "3",
        "Location" => "4",
        "Technology" | "API" | "Service" | "Product" => "5",
        "Concept" | "Document" => "6",
        _ => return None,
    })
}

/// Returns positions for `n` cards: one in the middle, the others on rings with as many as fit.
fn rings(n: usize) -> Vec<(i64, i64)> {
    let mut places = vec![(0, 0)];
    let mut ring = 1.0_f64;
    while places.len() < n {
        // The circumference of a ring divided by a card with half a gap on it.
        let radius = ring * (WIDTH as f64 + GAP);
        let room = WIDTH as f64 + GAP / 2.0;
        let n_here = ((std::f64::consts::TAU * radius / room) as usize).min(n - places.len());
        for idx in 0..n_here {
            let angle = std::f64::consts::TAU * idx as f64 / n_here as f64;
            places.push((
                (radius * angle.cos()).round() as i64,
                (radius * angle.sin()).round() as i64,
            ));
        }
        ring += 1.0;
    }
    places.truncate(n);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_do_not_lie_on_each_other() {
        for n in [0, 1, 2, 7, 200] {
            let places = rings(n);
            assert_eq!(places.len(), n);
            for (idx, a) in places.iter().enumerate() {
                for b in places.iter().skip(idx + 1) {
                    let is_apart = (a.0 - b.0).abs() >= WIDTH || (a.1 - b.1).abs() >= HEIGHT;
                    assert!(is_apart, "{a:?} {b:?} of {n}");
                }
            }
        }
    }
}
