//! Page: renders a graph as one HTML file that draws itself, offline.
//!
//! In: a reply of `graph`. Out: self-contained HTML: the drawing library, a script, the style, the graph, and
//! equivalent tables for readers who cannot see a drawing or run scripts.
//! Invariants: the page uses no network (its policy forbids everything except three pieces of script and style, by
//! hash); text of documents is inserted as text only; the same reply gives the same bytes.
//! Not here: requesting the graph, writing and opening the file (`kgctl graph`); drawing (`assets/graph/page.js`).

use std::borrow::Cow;
use std::fmt::Write;

use proto::tool::admin::{GraphEdge, GraphNode, GraphReply};
use serde_json::Value;

use crate::render::{clean, counted};

/// The first bytes of every page, by which it is recognized.
pub const MARK: &str = "<!doctype html>\n<!-- drawn by kgctl graph -->\n";

/// Cytoscape.js; its source is documented beside it.
const LIBRARY: &str = include_str!("../assets/cytoscape/cytoscape.min.js");
const SCRIPT: &str = include_str!("../assets/graph/page.js");
const STYLE: &str = include_str!("../assets/graph/page.css");

/// SHA-256 of the three, for the policy; a test prints the new value when one has changed.
const LIBRARY_HASH: &str = "CBWRq3NbK2o7MaPGD486Pi/ujJKTngx4IK0SCFcbbNg=";
const SCRIPT_HASH: &str = "1ezds6+mgwULWb9mCkVGTpC+TjEDqRWV2rU7Zz2CG/g=";
const STYLE_HASH: &str = "7QJZ81SrhugbCquE4DUpbDVm1g7/nxnpBlWXqtRwFiI=";

/// Renders the page. Pages of equal replies are equal, except for project and tick.
pub fn page(reply: &GraphReply) -> String {
    let name = reply.nodes.first().map_or("", |it| it.entity.name.as_str());
    let mut html = String::with_capacity(LIBRARY.len() + 100_000);
    html.push_str(MARK);
    head(&mut html, name);
    body(&mut html, reply, name);
    let graph = data(reply);
    let _ = write!(
        html,
        "<script type=\"application/json\" id=\"graph\">{graph}</script>\n<script>{LIBRARY}</script>\n"
    );
    let _ = write!(html, "<script>{SCRIPT}</script>\n</body>\n</html>\n");
    html
}

fn head(html: &mut String, name: &str) {
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{LIBRARY_HASH}' 'sha256-{SCRIPT_HASH}'; \
         style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'"
    );
    // The library looks for a style of this id before it adds its own, which the policy would block.
    let _ = write!(
        html,
        "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{} – graph</title>\n\
         <style id=\"__________cytoscape_stylesheet\">{STYLE}</style>\n</head>\n",
        safe(name)
    );
}

const CONTROLS: &str = "<div class=\"controls\" id=\"controls\" hidden>\n\
    <label>Find <input type=\"search\" id=\"find\" autocomplete=\"off\"></label>\n\
    <fieldset id=\"filters\"></fieldset>\n<button type=\"button\" id=\"fit\">Show all</button>\n\
    <span id=\"state\" role=\"status\"></span>\n</div>\n\
    <div class=\"legend\" id=\"legend\" aria-hidden=\"true\"></div>\n<main>\n\
    <div id=\"drawing\" tabindex=\"0\" role=\"application\" \
    aria-label=\"Drawing of the graph; the tables below say the same\" aria-describedby=\"keys\"></div>\n\
    <div id=\"details\" role=\"region\" aria-label=\"Chosen entity\" aria-live=\"polite\" tabindex=\"0\"></div>\n\
    </main>\n\
    <section>\n<p class=\"faint\" id=\"keys\">Drag to move, wheel to zoom, click to choose. With the drawing focused: \
    arrows move, + and - zoom, 0 shows all, n and p choose the next and previous entity, Esc chooses none. A dashed \
    line is contradicted by other evidence; a faded entity is an entry whose confidence has decayed, one that is \
    struck through has been superseded or does not count any more.</p>\n\
    <noscript><p>The drawing needs scripts; the tables below say the same.</p></noscript>\n";

fn body(html: &mut String, reply: &GraphReply, name: &str) {
    let hops = reply.nodes.iter().map(|it| it.hop).max().unwrap_or(0);
    let fresh = &reply.freshness;
    let building = fresh.building.as_ref().map(|it| format!("; still building: {}", safe(it)));
    let _ = write!(
        html,
        "<body>\n<header>\n<h1>{}</h1>\n<p class=\"faint\">{} and {} within {}; project {}, tick {}{}</p>\n",
        safe(name),
        counted(reply.nodes.len() as u64, "entity"),
        counted(reply.edges.len() as u64, "relation"),
        counted(u64::from(hops), "hop"),
        safe(&fresh.project),
        fresh.tick,
        building.unwrap_or_default()
    );
    if let Some(truncated) = &reply.truncated {
        let _ = writeln!(
            html,
            "<p><strong>{}</strong></p>",
            safe(&crate::render::for_shell(truncated))
        );
    }
    let _ = write!(html, "</header>\n{CONTROLS}");
    relations(html, reply);
    nodes(html, reply);
    html.push_str("</section>\n");
}

fn relations(html: &mut String, reply: &GraphReply) {
    html.push_str(
        "<table id=\"relations\">\n<caption>Relations</caption>\n<thead><tr><th scope=\"col\">Subject</th>\
         <th scope=\"col\">Relation</th><th scope=\"col\">Object</th><th scope=\"col\">Confidence</th>\
         <th scope=\"col\">Where</th><th scope=\"col\">Words</th></tr></thead>\n<tbody>\n",
    );
    for (idx, edge) in reply.edges.iter().enumerate() {
        let against = if edge.n_against > 0 { " contradicted" } else { "" };
        let (place, words) = evidence(edge);
        let _ = writeln!(
            html,
            "<tr data-edge=\"{idx}\"><td>{}</td><td>{}</td><td>{}</td><td>{:.2}{against}</td><td>{place}</td>\
             <td>{words}</td></tr>",
            link(reply, edge.src),
            safe(&edge.rel),
            link(reply, edge.dst),
            edge.confidence
        );
    }
    html.push_str("</tbody>\n</table>\n");
}

fn evidence(edge: &GraphEdge) -> (String, String) {
    let source = edge.evidence.as_ref().map(|it| &it.source);
    source.map_or_else(Default::default, |it| (safe(&it.place()), safe(&it.text)))
}

fn link(reply: &GraphReply, id: i64) -> String {
    let name = reply.nodes.iter().find(|it| it.entity.id == id).map(|it| it.entity.name.as_str());
    format!("<a href=\"#node={id}\">{}</a>", safe(name.unwrap_or_default()))
}

fn nodes(html: &mut String, reply: &GraphReply) {
    html.push_str(
        "<table id=\"entities\">\n<caption>Entities</caption>\n<thead><tr><th scope=\"col\">Entity</th>\
         <th scope=\"col\">Type</th><th scope=\"col\">Hops</th><th scope=\"col\">Mentions</th>\
         <th scope=\"col\">Definition</th><th scope=\"col\">Mentioned at</th></tr></thead>\n<tbody>\n",
    );
    for node in &reply.nodes {
        let places: Vec<String> = node.places.iter().map(|it| safe(&it.place())).collect();
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            entry(node, link(reply, node.entity.id)),
            safe(&node.entity.entity_type),
            node.hop,
            node.n_mentions,
            definition(node),
            places.join(", ")
        );
    }
    html.push_str("</tbody>\n</table>\n");
}

/// Returns a name with its entry's state, struck through if it has ended.
fn entry(node: &GraphNode, name: String) -> String {
    let Some(entry) = &node.entry else { return name };
    let is_over = entry.inactive || !entry.superseded_by.is_empty();
    let name = if is_over { format!("<del>{name}</del>") } else { name };
    let by = match entry.superseded_by.as_slice() {
        [] => String::new(),
        ids => format!(", superseded by {}", safe(&ids.join(", "))),
    };
    format!("{name} {} ({:.0} %{by})", safe(&entry.id), entry.confidence * 100.0)
}

fn definition(node: &GraphNode) -> String {
    let told = |it: &proto::tool::core::DefinitionView| {
        format!("{} ({})", safe(&it.source.text), safe(&it.source.place()))
    };
    node.definition.as_ref().map(told).unwrap_or_default()
}

/// Escapes text of a document: no markup, no control characters, no marks that reorder text.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Returns the graph as JSON for a script element: nothing in it can end or open an element.
fn data(reply: &GraphReply) -> String {
    // Through text: `to_value` would widen the `f32` 0.1 to 0.10000000149011612.
    let text = serde_json::to_string(reply).unwrap_or_default();
    let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
    let kept = |name: &str| matches!(name, "nodes" | "edges");
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| kept(name));
    }
    cleaned(&mut value);
    let mut out = String::with_capacity(text.len());
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn cleaned(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = clean(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cleaned),
        Value::Object(fields) => fields.values_mut().for_each(cleaned),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
