//! Sentences and the relations their grammar states: one table per construction, with sentences that state none.

use std::fmt::Write;
use std::sync::Arc;

use arc_swap::ArcSwap;
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::link::LinkStage;
use crate::recognize::{Gazetteer, GazetteerTerm, RecognizeStage};
use crate::relate::{RelateStage, Vocabulary};
use model::Stage;
use model::document::{Document, Evidence, Pass, testing};
use model::terms::{EntityType, norm_of};

const NAMES: [&str; 11] = [
    "Prometheus",
    "Kafka",
    "Redis",
    "Grafana",
    "Alertmanager",
    "Trust Team",
    "Porto",
    "Signing Service",
    "Postgres",
    "Ada Moreno",
    "Portugal",
];

/// The type of each name, so that types can decide the meaning of a word between names.
fn type_of(name: &str) -> EntityType {
    match name {
        "Ada Moreno" => EntityType::Person,
        "Trust Team" => EntityType::Organization,
        "Porto" | "Portugal" => EntityType::Location,
        _ => EntityType::Service,
    }
}

fn related(mut doc: Document, vocabulary: Arc<Vocabulary>) -> Document {
    doc.head.pass = Pass::Deep;
    let row = |name: &&str| GazetteerTerm {
        surface: name.to_string(),
        norm: norm_of(name),
        entity_type: type_of(name),
    };
    let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, NAMES.iter().map(row))));
    let settings = config::settings::Recognize::default();
    let mut recognize = RecognizeStage::new(&settings, gazetteer);
    let doc = recognize.run(doc).expect("recognize has no faults");
    let doc = LinkStage.run(doc).expect("link has no faults");
    RelateStage::new(vocabulary).run(doc).expect("relate has no faults")
}

/// Checks the relations that grammar finds in sentences, one per line, each with the words that state it.
fn check(sentences: &str, expect: Expect) {
    check_with(Vocabulary::builtin(), sentences, expect);
}

fn check_with(vocabulary: Arc<Vocabulary>, sentences: &str, expect: Expect) {
    let mut out = String::new();
    for sentence in sentences.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let related = related(testing::doc(sentence), vocabulary.clone());
        let name = |party: Party| match party {
            Party::Document | Party::Link(_) => "(document)".to_string(),
            Party::Mention(idx) => related.found.mentions[idx as usize].name.clone(),
        };
        writeln!(out, "{sentence}").expect("a string takes writes");
        for e in related.evidence.iter().filter(|e| e.pattern.starts_with("depend:")) {
            let (subject, object) = (name(e.subject), name(e.object));
            let (confidence, words) = (e.confidence.get(), e.span.of(&related.text));
            writeln!(out, "  {confidence:.2} {subject} {} {object} [{words}]", e.predicate)
                .expect("a string takes writes");
        }
    }
    expect.assert_eq(&out);
}

#[test]
fn active_and_passive() {
    check(
        "Prometheus uses Kafka.
         Kafka is used by Prometheus.
         Prometheus depends on the Kafka cluster.
         Prometheus is built on top of Kafka.
         The Signing Service is owned by the Trust Team.
         The Trust Team, which sits next door, maintains the Signing Service.
         Kafka is leveraged by Prometheus.
         Prometheus stores its data in Postgres.
         Prometheus makes heavy use of Redis.",
        expect![[r#"
            Prometheus uses Kafka.
              0.90 Prometheus uses Kafka [Prometheus uses Kafka]
            Kafka is used by Prometheus.
              0.90 Prometheus uses Kafka [Kafka is used by Prometheus]
            Prometheus depends on the Kafka cluster.
              0.95 Prometheus depends_on Kafka [Prometheus depends on the Kafka]
            Prometheus is built on top of Kafka.
              0.90 Prometheus uses Kafka [Prometheus is built on top of Kafka]
            The Signing Service is owned by the Trust Team.
              0.95 Signing Service owned_by Trust Team [Signing Service is owned by the Trust Team]
            The Trust Team, which sits next door, maintains the Signing Service.
              0.85 Signing Service owned_by Trust Team [Trust Team, which sits next door, maintains the Signing Service]
            Kafka is leveraged by Prometheus.
              0.76 Prometheus uses Kafka [Kafka is leveraged by Prometheus]
            Prometheus stores its data in Postgres.
            Prometheus makes heavy use of Redis.
              0.85 Prometheus uses Redis [Prometheus makes heavy use of Redis]
        "#]],
    );
}

#[test]
fn what_grammar_denies_no_template_states() {
    let denied = related(
        testing::doc("Neither Kafka nor the old Redis uses Postgres."),
        Vocabulary::builtin(),
    );
    let stated: Vec<_> = denied.evidence.iter().filter(|it| it.predicate == "uses").collect();
    assert_eq!(stated, Vec::<&model::document::Evidence>::new());
}

#[test]
fn a_semicolon_parts() {
    check(
        "Our projects include Kafka, for mail; Redis, built on Postgres; and Grafana, for charts.",
        expect![[r#"
            Our projects include Kafka, for mail; Redis, built on Postgres; and Grafana, for charts.
              0.90 Redis uses Postgres [Redis, built on Postgres]
        "#]],
    );
}

#[test]
fn copulas_appositions_and_roles() {
    check(
        "Alertmanager is a part of Prometheus.
         Alertmanager is an important component of the Prometheus project.
         Alertmanager, a component of Prometheus, sends mail.
         Alertmanager, a tool built on Kafka, needs Redis.
         Prometheus is a system that uses Kafka.
         Kafka is a dependency of Prometheus.
         The Trust Team is responsible for the Signing Service.
         The dependency of Prometheus is Kafka.",
        expect![[r#"
            Alertmanager is a part of Prometheus.
              0.95 Alertmanager part_of Prometheus [Alertmanager is a part of Prometheus]
            Alertmanager is an important component of the Prometheus project.
              0.95 Alertmanager part_of Prometheus [Alertmanager is an important component of the Prometheus]
            Alertmanager, a component of Prometheus, sends mail.
              0.95 Alertmanager part_of Prometheus [Alertmanager, a component of Prometheus]
            Alertmanager, a tool built on Kafka, needs Redis.
              0.85 Alertmanager uses Kafka [Alertmanager, a tool built on Kafka]
              0.85 Alertmanager depends_on Redis [Alertmanager, a tool built on Kafka, needs Redis]
            Prometheus is a system that uses Kafka.
              0.85 Prometheus uses Kafka [Prometheus is a system that uses Kafka]
            Kafka is a dependency of Prometheus.
              0.90 Prometheus depends_on Kafka [Kafka is a dependency of Prometheus]
            The Trust Team is responsible for the Signing Service.
              0.80 Signing Service owned_by Trust Team [Trust Team is responsible for the Signing Service]
            The dependency of Prometheus is Kafka.
              0.90 Prometheus depends_on Kafka [dependency of Prometheus is Kafka]
        "#]],
    );
}

#[test]
fn rows_are_shared() {
    check(
        "Prometheus and Grafana use Kafka and Redis.
         Prometheus uses Kafka, Redis and Postgres.
         The Signing Service is owned by the Trust Team and runs in Porto.
         Prometheus uses Kafka but not Redis.
         Prometheus or Grafana uses Kafka.
         Prometheus uses databases such as Postgres and Redis.
         Prometheus uses Kafka and Grafana needs Redis.",
        expect![[r#"
            Prometheus and Grafana use Kafka and Redis.
              0.90 Prometheus uses Kafka [Prometheus and Grafana use Kafka]
              0.87 Prometheus uses Redis [Prometheus and Grafana use Kafka and Redis]
              0.90 Grafana uses Kafka [Grafana use Kafka]
              0.87 Grafana uses Redis [Grafana use Kafka and Redis]
            Prometheus uses Kafka, Redis and Postgres.
              0.90 Prometheus uses Kafka [Prometheus uses Kafka]
              0.87 Prometheus uses Redis [Prometheus uses Kafka, Redis]
              0.85 Prometheus uses Postgres [Prometheus uses Kafka, Redis and Postgres]
            The Signing Service is owned by the Trust Team and runs in Porto.
              0.95 Signing Service owned_by Trust Team [Signing Service is owned by the Trust Team]
              0.71 Signing Service located_in Porto [Signing Service is owned by the Trust Team and runs in Porto]
            Prometheus uses Kafka but not Redis.
              0.90 Prometheus uses Kafka [Prometheus uses Kafka]
              0.87 Prometheus not uses Redis [Prometheus uses Kafka but not Redis]
            Prometheus or Grafana uses Kafka.
            Prometheus uses databases such as Postgres and Redis.
              0.81 Prometheus uses Postgres [Prometheus uses databases such as Postgres]
              0.79 Prometheus uses Redis [Prometheus uses databases such as Postgres and Redis]
            Prometheus uses Kafka and Grafana needs Redis.
              0.90 Prometheus uses Kafka [Prometheus uses Kafka]
        "#]],
    );
}

#[test]
fn relative_clauses_and_participles() {
    check(
        "Prometheus, which uses Kafka, depends on Redis.
         Prometheus uses Kafka, which depends on Redis.
         Prometheus, built on Kafka, uses Redis.
         Using Kafka, Prometheus depends on Redis.
         We run Grafana, which is used by the Trust Team and needs Postgres.
         Prometheus scales by using Kafka.",
        expect![[r#"
            Prometheus, which uses Kafka, depends on Redis.
              0.90 Prometheus uses Kafka [Prometheus, which uses Kafka]
              0.95 Prometheus depends_on Redis [Prometheus, which uses Kafka, depends on Redis]
            Prometheus uses Kafka, which depends on Redis.
              0.90 Prometheus uses Kafka [Prometheus uses Kafka]
              0.95 Kafka depends_on Redis [Kafka, which depends on Redis]
            Prometheus, built on Kafka, uses Redis.
              0.73 Prometheus uses Kafka [Prometheus, built on Kafka]
              0.90 Prometheus uses Redis [Prometheus, built on Kafka, uses Redis]
            Using Kafka, Prometheus depends on Redis.
              0.95 Prometheus depends_on Redis [Prometheus depends on Redis]
            We run Grafana, which is used by the Trust Team and needs Postgres.
              0.90 Trust Team uses Grafana [Grafana, which is used by the Trust Team]
              0.81 Grafana depends_on Postgres [Grafana, which is used by the Trust Team and needs Postgres]
            Prometheus scales by using Kafka.
              0.76 Prometheus uses Kafka [Prometheus scales by using Kafka]
        "#]],
    );
}

#[test]
fn what_is_denied_is_kept_as_denied() {
    check(
        "Prometheus does not use Kafka.
         Prometheus doesn't depend on Redis or use Kafka.
         Prometheus never uses Kafka.
         Prometheus no longer uses Kafka.
         Alertmanager is not a part of Grafana.
         Neither Prometheus nor Grafana uses Kafka.
         Prometheus is not used by Grafana.
         Prometheus uses no Kafka.",
        expect![[r#"
            Prometheus does not use Kafka.
              0.90 Prometheus not uses Kafka [Prometheus does not use Kafka]
            Prometheus doesn't depend on Redis or use Kafka.
              0.95 Prometheus not depends_on Redis [Prometheus doesn't depend on Redis]
            Prometheus never uses Kafka.
              0.90 Prometheus not uses Kafka [Prometheus never uses Kafka]
            Prometheus no longer uses Kafka.
              0.90 Prometheus not uses Kafka [Prometheus no longer uses Kafka]
            Alertmanager is not a part of Grafana.
              0.95 Alertmanager not part_of Grafana [Alertmanager is not a part of Grafana]
            Neither Prometheus nor Grafana uses Kafka.
              0.90 Prometheus not uses Kafka [Prometheus nor Grafana uses Kafka]
              0.90 Grafana not uses Kafka [Grafana uses Kafka]
            Prometheus is not used by Grafana.
              0.90 Grafana not uses Prometheus [Prometheus is not used by Grafana]
            Prometheus uses no Kafka.
              0.90 Prometheus not uses Kafka [Prometheus uses no Kafka]
        "#]],
    );
}

#[test]
fn what_may_be_is_not_stated() {
    check(
        "Prometheus may depend on Kafka.
         Prometheus can use Kafka.
         Prometheus will probably use Kafka.
         If the queue is full, Prometheus uses Kafka.
         Prometheus was built on Kafka.",
        expect![[r#"
            Prometheus may depend on Kafka.
            Prometheus can use Kafka.
            Prometheus will probably use Kafka.
            If the queue is full, Prometheus uses Kafka.
            Prometheus was built on Kafka.
              0.76 Prometheus uses Kafka [Prometheus was built on Kafka]
        "#]],
    );
}

#[test]
fn what_is_not_said_is_not_stated() {
    check(
        "The Signing Service used to belong to the Trust Team.
         The Signing Service formerly belonged to the Trust Team.
         Does Prometheus use Kafka?
         If Prometheus uses Kafka, restart Redis.
         Unless Prometheus depends on Kafka, stop.
         Prometheus would use Kafka.
         Suppose Prometheus uses Kafka.
         We want Prometheus to use Kafka.
         Nobody knows whether Prometheus uses Kafka.
         Prometheus plans to use Kafka.
         Prometheus works without using Kafka.
         The driver of Prometheus uses Kafka.
         Prometheus uses the Kafka driver of Redis.
         Prometheus is a way to use Kafka.
         Unlike Prometheus, Grafana uses Redis.
         Prometheus uses Redis instead of Kafka.
         Prometheus uses more memory than Kafka.
         Prometheus's driver uses Kafka.",
        expect![[r#"
            The Signing Service used to belong to the Trust Team.
            The Signing Service formerly belonged to the Trust Team.
            Does Prometheus use Kafka?
            If Prometheus uses Kafka, restart Redis.
            Unless Prometheus depends on Kafka, stop.
            Prometheus would use Kafka.
            Suppose Prometheus uses Kafka.
            We want Prometheus to use Kafka.
            Nobody knows whether Prometheus uses Kafka.
            Prometheus plans to use Kafka.
            Prometheus works without using Kafka.
            The driver of Prometheus uses Kafka.
            Prometheus uses the Kafka driver of Redis.
            Prometheus is a way to use Kafka.
            Unlike Prometheus, Grafana uses Redis.
              0.90 Grafana uses Redis [Grafana uses Redis]
            Prometheus uses Redis instead of Kafka.
              0.90 Prometheus uses Redis [Prometheus uses Redis]
            Prometheus uses more memory than Kafka.
            Prometheus's driver uses Kafka.
        "#]],
    );
}

#[test]
fn what_somebody_says_is_a_little_less_sure() {
    check(
        "The manual says that Prometheus uses Kafka.
         Prometheus continues to use Kafka.
         Prometheus uses Kafka, Grafana uses Redis.",
        expect![[r#"
            The manual says that Prometheus uses Kafka.
              0.81 Prometheus uses Kafka [Prometheus uses Kafka]
            Prometheus continues to use Kafka.
              0.81 Prometheus uses Kafka [Prometheus continues to use Kafka]
            Prometheus uses Kafka, Grafana uses Redis.
              0.81 Prometheus uses Kafka [Prometheus uses Kafka]
              0.90 Grafana uses Redis [Grafana uses Redis]
        "#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_read_without_harm(
        pieces in proptest::collection::vec(prop::sample::select(vec![
            "Prometheus ", "Kafka ", "uses ", "is ", "part of ", "and ", ", ", "which ", "not ", "by ", ". ",
            "\n", "- ",
            "(", ") ", "é", "a tool ", "used to ", "the ", "such as ", "Redis ", "\u{a0}", "  ", "'s ", "If ",
        ]), 0..60)
    ) {
        let related = related(testing::doc(&pieces.concat()), Vocabulary::builtin());
        let text = &related.text;
        let mentions = &related.found.mentions;
        for e in related.evidence.iter().filter(|e| e.pattern.starts_with("depend:")) {
            prop_assert!(text.get(e.span.range()).is_some());
            for party in [e.subject, e.object] {
                let Party::Mention(idx) = party else { continue };
                prop_assert!(e.span.contains(mentions[idx as usize].span));
            }
        }
    }

    #[test]
    fn any_text_is_read_without_harm(text in any::<String>()) {
        related(testing::doc(&format!("Prometheus {text} Kafka")), Vocabulary::builtin());
    }
}

#[test]
fn one_of_many_things_of_a_name_is_not_that_name() {
    for (sentence, is_stated) in [
        ("The Kafka cluster uses Redis.", true),
        ("Prometheus is a Kafka library that uses Redis.", false),
        ("There are Kafka libraries that use Redis.", false),
    ] {
        let related = related(testing::doc(sentence), Vocabulary::builtin());
        let is_kafka = |party: Party| match party {
            Party::Document | Party::Link(_) => false,
            Party::Mention(idx) => related.found.mentions[idx as usize].name == "Kafka",
        };
        let of_grammar = related.evidence.iter().filter(|e| e.pattern.starts_with("depend:"));
        let uses = |e: &Evidence| e.predicate == "uses" && is_kafka(e.subject);
        assert_eq!(of_grammar.into_iter().any(uses), is_stated, "{sentence}");
    }
}
