use proptest::prelude::*;
use proto::tool::admin::{Community, EntryOfNode};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;

const HOSTILE: &[&str] = &[
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "\"><b>'&amp;",
    "a\u{202e}b\u{2028}c\u{0}d",
];

fn reply_of(names: &[&str]) -> GraphReply {
    let node = |(idx, name): (usize, &&str)| {
        json!({
            "id": idx + 1, "name": name, "type": name, "aliases": [name], "hop": idx.min(1), "n_mentions": 2,
            "n_documents": 1, "home": name, "definition": { "path": name, "line": 3, "text": name, "by": "sentence" },
            "places": [{ "path": name, "line": 3 }]
        })
    };
    let edge = |(idx, name): (usize, &&str)| {
        json!({
            "src": 1, "dst": idx + 1, "rel": name, "confidence": 0.9, "n_evidence": 1, "n_against": 0,
            "evidence": { "path": name, "line": 3, "text": name, "span": [0, 9], "pattern": name, "confidence": 0.9 }
        })
    };
    let nodes: Vec<Value> = names.iter().enumerate().map(node).collect();
    let edges: Vec<Value> = names.iter().enumerate().skip(1).map(edge).collect();
    let reply = json!({ "nodes": nodes, "edges": edges, "project": names[0], "tick": 4, "truncated": names[0] });
    serde_json::from_value(reply).expect("a reply")
}

/// Returns the page without the parts that we wrote.
fn ours_removed(page: &str) -> String {
    [LIBRARY, SCRIPT, STYLE].iter().fold(page.to_string(), |page, part| page.replacen(part, "", 1))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= three.len() { digit as char } else { '=' });
        }
    }
    out
}

#[test]
fn the_policy_names_what_stands_in_the_page() {
    for (part, stated) in [(LIBRARY, LIBRARY_HASH), (SCRIPT, SCRIPT_HASH), (STYLE, STYLE_HASH)] {
        assert_eq!(base64(&Sha256::digest(part)), stated, "write this into `page.rs`");
        assert!(!part.contains("</script") && !part.contains("</style") && !part.contains("<!--"));
    }
    let readme = include_str!("../../assets/cytoscape/README.md");
    let hash: String = Sha256::digest(LIBRARY).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(readme.contains(&hash), "the library is not the one that its README names");
}

#[test]
fn nothing_leads_out_of_the_page() {
    let page = page(&reply_of(&["A", "B"]), None);
    let rest = ours_removed(&page);
    for word in ["http:", "https:", "src=", "url(", "@import", "<link", "<iframe"] {
        assert!(!rest.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'") && !page.contains("unsafe-inline"));
    assert!(page.starts_with(MARK));
    for part in [SCRIPT, STYLE] {
        for word in ["http:", "https:", "fetch(", "XMLHttp", "innerHTML", "url(", "localStorage"] {
            assert!(!part.contains(word), "{word}");
        }
    }
}

#[test]
fn names_cannot_become_markup() {
    let page = page(&reply_of(HOSTILE), None);
    let rest = ours_removed(&page);
    assert_eq!(rest.matches("<script").count(), 3, "the data and two that are empty now");
    assert_eq!(rest.matches("</script").count(), 3);
    for word in ["<img", "<b>", "alert(1)</script>", "\u{202e}", "\u{0}", "<!--<"] {
        assert!(!rest.contains(word), "{word:?}");
    }
    assert!(rest.contains("&lt;img src=x onerror=alert(1)&gt;"), "shown as it is written");
}

#[test]
fn the_same_graph_gives_the_same_page() {
    assert_eq!(page(&reply_of(HOSTILE), None), page(&reply_of(HOSTILE), None));
}

#[test]
fn list_and_table_say_what_is_drawn() {
    let page = page(&reply_of(&["Signing Service", "Key Vault"]), None);
    for words in [
        "<h1>Signing Service</h1>",
        "2 entities and 1 relation within 1 hop",
        "<li data-edge=\"0\"><a href=\"#node=1\">Signing Service</a> <em>Key Vault</em> <a href=\"#node=2\">Key Vault</a>",
        "0.90 Key Vault:3<blockquote>Key Vault</blockquote></li>",
        "<td><a href=\"#node=1\">Signing Service</a></td><td>Signing Service</td><td>0</td><td>2</td>",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_folder_is_called_by_its_project_and_groups_its_entities() {
    let mut reply = reply_of(&["Signing Service", "Key Vault"]);
    reply.freshness.project = "notes".into();
    let label = "Signing Service, Key Vault".to_string();
    reply.communities = vec![Community { id: 1, label, size: 2 }];
    reply.nodes.iter_mut().for_each(|it| it.community = Some(1));
    let page = page(&reply, None);
    for words in [
        "<h1>notes</h1>",
        "2 entities and 1 relation in 1 community; project notes",
        "<th scope=\"col\">Community</th>",
        "\"communities\":[{\"id\":1,\"label\":\"Signing Service, Key Vault\",\"size\":2}]",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn places_lead_to_files_of_the_folder() {
    let root = Path::new("/home/ada/my notes");
    let page = page(&reply_of(&["A", "a b/\"><img>#1.md"]), Some(root));
    let address = "file:///home/ada/my%20notes/a%20b/%22%3E%3Cimg%3E%231.md";
    assert!(page.contains(&format!("<a href=\"{address}\" target=\"_blank\" rel=\"noopener\">")));
    assert!(page.contains("\"root\":\"file:///home/ada/my%20notes/\""));
}

#[test]
fn entries_that_are_over_are_struck_through() {
    let mut reply = reply_of(&["WAL mode", "Rollback journal", "Plain"]);
    let entry = |id: &str, confidence, superseded_by: &[&str]| {
        let superseded_by = superseded_by.iter().map(|it| it.to_string()).collect();
        Some(EntryOfNode { id: id.into(), confidence, superseded_by, ..EntryOfNode::default() })
    };
    reply.nodes[0].entry = entry("kb-00002", 0.9, &[]);
    reply.nodes[1].entry = entry("kb-00001", 0.42, &["kb-00002"]);
    let page = page(&reply, None);
    for words in [
        "<td><a href=\"#node=1\">WAL mode</a> kb-00002 (90 %)</td>",
        "<td><del><a href=\"#node=2\">Rollback journal</a></del> kb-00001 (42 %, superseded by kb-00002)</td>",
        "<td><a href=\"#node=3\">Plain</a></td>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(
        page.contains(
            r#""entry":{"id":"kb-00001","confidence":0.42,"superseded_by":["kb-00002"]}"#
        )
    );
}

proptest! {
    #[test]
    fn any_name_stays_text(name in "(\\PC|<|>|&|\"|'|/|script){0,40}") {
        let reply = reply_of(&["A", &name]);
        let graph = Page { reply: &reply, root: None }.data();
        prop_assert!(!graph.contains(['<', '>', '&']));
        let read: Value = serde_json::from_str(&graph).expect("JSON");
        prop_assert_eq!(read["nodes"][1]["name"].as_str(), Some(&*clean(&name)));
        prop_assert!(!safe(&name).contains(['<', '>', '"', '\'']));
    }
}
