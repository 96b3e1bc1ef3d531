//! Documents: the documents of a crowd: seeds that stay, desks with many versions, and a folder in
//! bulk.
//!
//! Invariant: every sentence of a desk's document contains its mark, `qz3v17z` for version 17 of
//! desk 3, so that any excerpt in a reply identifies the version.

use serde_json::{Value, json};

/// Documents that nobody changes: each states a relation that a writer decides about.
pub(super) fn seeds(n_writers: usize) -> Vec<(String, String)> {
    let mut seeds = vec![
        (
            "Harbor Gateway.md".to_string(),
            "---\ntype: Service\naliases: [HGW]\n---\n# Harbor Gateway\n\nThe Harbor Gateway is the service that \
             lets ships in. The Harbor Gateway depends on the [[Tide Clock]].\n"
                .to_string(),
        ),
        (
            "Tide Clock.md".to_string(),
            "---\ntype: Service\n---\n# Tide Clock\n\nThe Tide Clock is a service that tells when the water turns. \
             Ada Lindqvist maintains the Tide Clock.\n"
                .to_string(),
        ),
    ];
    seeds.extend((0..n_writers).map(|n| {
        let text = format!(
            "# Mooring {n}\n\nMooring {n} is a place for boats. Mooring {n} depends on [[Bollard {n}]].\n"
        );
        (format!("moorings/Mooring {n}.md"), text)
    }));
    seeds.extend((0..n_writers).map(|n| {
        (
            format!("moorings/Bollard {n}.md"),
            format!("# Bollard {n}\n\nBollard {n} is made of iron.\n"),
        )
    }));
    seeds
}

/// Returns the key for deciding about a mooring's relation.
pub(super) fn relation_key(writer: usize) -> String {
    format!("relation:mooring{writer}>depends_on>bollard{writer}")
}

/// Returns one version of one desk's document: path and text.
pub(super) fn written(desk: usize, version: usize) -> (String, String) {
    let mark = format!("qz{desk}v{version}z");
    let mut text = format!("---\ntype: Service\n---\n# Desk {desk}\n\n");
    let topics = ["ledger", "amber lamp", "tide table", "rope store", "signal book"];
    for (i, topic) in topics.iter().enumerate() {
        text += &format!("## The {topic} {mark}\n\n");
        for line in 0..20 {
            let verb = ["keeps", "counts", "moves", "checks"][(i + line) % 4];
            text += &format!("Edition {mark} {verb} the {topic} of desk {desk}, line {line}. ");
        }
        text += &format!("\n\nDesk {desk} depends on [[Edition {mark}]].\n\n");
    }
    (format!("desks/Desk {desk}.md"), text)
}

/// Returns one file of the folder that is ingested meanwhile, as a generator would write it.
pub(super) fn bulk(i: usize, n: usize) -> (String, String) {
    let (next, team, region, limit) = ((i * 7 + 1) % n, i % 50, i % 12, 100 + i % 400);
    let link = format!("../{}/{next}.md", next / 200);
    let text = format!(
        "# Service {i}\n\nService {i} depends on [Service {next}]({link}) and is run by Team {team}.\n\n\
         ## Deploying\n\n1. Build image {i}.\n2. Roll out to region {region}.\n3. Watch the errors.\n\n\
         ## Alerts\n\nWhen latency of Service {i} rises above {limit} ms, call Team {team}.\n\
         The queue `jobs-{i}` may be full.\n"
    );
    (format!("bulk/{}/{i}.md", i / 200), text)
}

/// Requests of the askers. Few, so that many ask the same at the same tick.
pub(super) fn requests() -> Vec<(&'static str, Value)> {
    vec![
        ("hybrid_query", json!({"q": "who keeps the ledger of the desk"})),
        ("explain_entity", json!({"name": "Mooring 0"})),
        ("hybrid_query", json!({"q": "when does the water turn"})),
        ("entity_lookup", json!({"q": "harbor"})),
        ("explain_entity", json!({"name": "Desk 1", "limit": 50})),
        (
            "hybrid_query",
            json!({"q": "amber lamp edition", "path": "desks/", "k": 20, "max_chars": 20_000}),
        ),
        ("explain_entity", json!({"name": "Harbor Gateway", "hops": 2, "why": true})),
        ("hybrid_query", json!({"q": "latency above the limit call the team", "k": 20})),
        ("entity_lookup", json!({"q": "desk"})),
        ("explain_entity", json!({"name": "Mooring 1"})),
        ("status", json!({})),
        (
            "hybrid_query",
            json!({"q": "rope store", "formula": "text", "k": 30, "max_chars": 20_000}),
        ),
        ("explain_entity", json!({"name": "Desk 0", "why": true})),
    ]
}
