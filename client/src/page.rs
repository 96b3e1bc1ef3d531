//! Page: renders a graph as one HTML file that draws itself, offline.
//!
//! In: a reply of `graph`, the folder of the project. Out: self-contained HTML: the drawing library, a script, the
//! style, the graph, and an equivalent list and table for readers who cannot see a drawing or run scripts.
//! Invariants: the page uses no network (its policy forbids everything except three pieces of
//! script and style, by hash); text of documents is inserted as text only; equal replies give equal
//! bytes; links lead only to files of the project.

use std::borrow::Cow;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use proto::tool::admin::{GraphNode, GraphReply};
use serde_json::Value;

use crate::render::{clean, counted};

/// The first bytes of every page, which identify it.
pub const MARK: &str = "<!doctype html>\n<!-- drawn by kgctl graph -->\n";

/// Cytoscape.js; its source is documented beside it.
const LIBRARY: &str = include_str!("../assets/cytoscape/cytoscape.min.js");
const SCRIPT: &str =
    concat!(include_str!("../assets/graph/places.js"), include_str!("../assets/graph/page.js"));
const STYLE: &str = include_str!("../assets/graph/page.css");

/// SHA-256 of the three, for the policy. A test prints the new value if one has changed.
const LIBRARY_HASH: &str = "CBWRq3NbK2o7MaPGD486Pi/ujJKTngx4IK0SCFcbbNg=";
const SCRIPT_HASH: &str = "Cclp2p25qHWNI/802VelFC4oroxYqGbnJiobwchZCj8=";
const STYLE_HASH: &str = "ws0Ecj+xGCvm/Qa5DJWf15zeIi/RoI3b7BKSLJjdfe0=";

/// Renders the page. Places are links if `root`, the project's folder, is given. Pages of equal
/// replies are equal, except for project and tick.
pub fn page(reply: &GraphReply, root: Option<&Path>) -> String {
    let page = Page {
        reply,
        root: root.map(|root| format!("file://{}/", encoded(root.as_os_str().as_bytes()))),
    };
    let mut html = String::with_capacity(LIBRARY.len() + 100_000);
    html.push_str(MARK);
    head(&mut html, page.title());
    page.body(&mut html);
    let graph = page.data();
    let _ = write!(
        html,
        "<script type=\"application/json\" id=\"graph\">{graph}</script>\n<script>{LIBRARY}</script>\n"
    );
    let _ = write!(html, "<script>{SCRIPT}</script>\n</body>\n</html>\n");
    html
}

/// Returns the entity whose neighborhood this is, or `None` for a whole folder.
pub fn subject(reply: &GraphReply) -> Option<&GraphNode> {
    reply.nodes.first().filter(|_| reply.communities.is_empty())
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
    <button type=\"button\" id=\"fit\">Show all</button>\n<span id=\"state\" role=\"status\"></span>\n\
    <details id=\"filters\"><summary>Relations</summary><fieldset></fieldset></details>\n\
    <fieldset id=\"legend\" aria-label=\"Groups shown\"></fieldset>\n</div>\n<main>\n\
    <div id=\"drawing\" tabindex=\"0\" role=\"application\" \
    aria-label=\"Drawing of the graph; the list and the table say the same\" aria-describedby=\"keys\"></div>\n\
    <div id=\"beside\" tabindex=\"0\">\n\
    <div id=\"details\" role=\"region\" aria-label=\"Chosen entity\" aria-live=\"polite\"></div>\n";

const KEYS: &str = "<p class=\"faint\" id=\"keys\">Drag to move, wheel to zoom for more names, point at an entity or a \
    line for its relations. A click chooses an entity and opens its document; with Ctrl or Shift it only chooses. With \
    the drawing focused: arrows move, + and - zoom, 0 shows all, n and p choose the next and previous entity, Esc \
    chooses none. A dashed line is contradicted by other evidence; a dotted one is no relation: both ends are \
    mentioned together; a faded entity is an entry whose confidence has decayed, one that is struck through has been \
    superseded or does not count any more.</p>\n\
    <noscript><p>The drawing needs scripts; the list and the table say the same.</p></noscript>\n";

/// A reply, and the address of the folder to which its paths are relative.
struct Page<'r> {
    reply: &'r GraphReply,
    root: Option<String>,
}

impl Page<'_> {
    fn title(&self) -> &str {
        subject(self.reply).map_or(&self.reply.freshness.project, |it| &it.entity.name)
    }

    fn body(&self, html: &mut String) {
        let reply = self.reply;
        let hops = reply.nodes.iter().map(|it| it.hop).max().unwrap_or(0);
        let extent = match subject(reply) {
            Some(_) => format!("within {}", counted(u64::from(hops), "hop")),
            None => format!("in {}", counted(reply.communities.len() as u64, "community")),
        };
        let fresh = &reply.freshness;
        let building = fresh.building.as_ref().map(|it| format!("; still building: {}", safe(it)));
        let _ = write!(
            html,
            "<body>\n<header>\n<h1>{}</h1>\n<p class=\"faint\">{} and {} {extent}; project {}, tick {}{}</p>\n",
            safe(self.title()),
            counted(reply.nodes.len() as u64, "entity"),
            counted(reply.n_relations(), "relation"),
            safe(&fresh.project),
            fresh.tick,
            building.unwrap_or_default()
        );
        if let Some(truncated) = &reply.truncated {
            let truncated = safe(&crate::render::for_shell(truncated));
            let _ = writeln!(html, "<p><strong>{truncated}</strong></p>");
        }
        let _ = write!(html, "</header>\n{CONTROLS}");
        self.relations(html);
        let _ = write!(html, "</div>\n</main>\n<section>\n{KEYS}");
        self.nodes(html);
        html.push_str("</section>\n");
    }

    fn relations(&self, html: &mut String) {
        html.push_str("<h2>Relations</h2>\n<ul id=\"relations\">\n");
        for (idx, edge) in self.reply.edges.iter().enumerate() {
            let against = if edge.n_against > 0 { " <strong>contradicted</strong>" } else { "" };
            let evidence = edge.evidence.as_ref().map(|it| {
                let place = self.file(&it.source.path, &it.source.place());
                format!(" {place}<blockquote>{}</blockquote>", safe(&it.source.text))
            });
            let _ = writeln!(
                html,
                "<li data-edge=\"{idx}\">{} <em>{}</em> {} {:.2}{against}{}</li>",
                self.link(edge.src),
                safe(&edge.words()),
                self.link(edge.dst),
                edge.confidence,
                evidence.unwrap_or_default()
            );
        }
        html.push_str("</ul>\n");
    }

    /// Renders a place as a link to its file.
    fn file(&self, path: &str, place: &str) -> String {
        let Some(root) = &self.root else { return safe(place) };
        let to = encoded(path.as_bytes());
        format!("<a href=\"{root}{to}\" target=\"_blank\" rel=\"noopener\">{}</a>", safe(place))
    }

    fn link(&self, id: i64) -> String {
        let found = self.reply.nodes.iter().find(|it| it.entity.id == id);
        format!("<a href=\"#node={id}\">{}</a>", safe(found.map_or("", |it| &it.entity.name)))
    }

    fn nodes(&self, html: &mut String) {
        let group = if subject(self.reply).is_some() { "Hops" } else { "Community" };
        let _ = writeln!(
            html,
            "<table id=\"entities\">\n<caption>Entities</caption>\n<thead><tr><th scope=\"col\">Entity</th>\
             <th scope=\"col\">Type</th><th scope=\"col\">{group}</th><th scope=\"col\">Mentions</th>\
             <th scope=\"col\">Definition</th><th scope=\"col\">Mentioned at</th></tr></thead>\n<tbody>"
        );
        for node in &self.reply.nodes {
            let places: Vec<String> =
                node.places.iter().map(|it| self.file(&it.path, &it.place())).collect();
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                entry(node, self.link(node.entity.id)),
                safe(&node.entity.entity_type),
                node.community.unwrap_or(node.hop),
                node.n_mentions,
                self.definition(node),
                places.join(", ")
            );
        }
        html.push_str("</tbody>\n</table>\n");
    }

    fn definition(&self, node: &GraphNode) -> String {
        let Some(definition) = &node.definition else { return String::new() };
        let source = &definition.source;
        format!("{} ({})", safe(&source.text), self.file(&source.path, &source.place()))
    }

    /// Renders the graph as JSON for a script element: nothing in it can end or open an element.
    fn data(&self) -> String {
        // Through text: `to_value` would widen the `f32` 0.1 to 0.10000000149011612.
        let text = serde_json::to_string(self.reply).unwrap_or_default();
        let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
        if let Value::Object(fields) = &mut value {
            fields.retain(|name, _| matches!(name.as_str(), "nodes" | "edges" | "communities"));
            fields.extend(self.root.clone().map(|root| ("root".to_string(), Value::String(root))));
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

/// Encodes a path as part of an address.
fn encoded(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(*byte)),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
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
