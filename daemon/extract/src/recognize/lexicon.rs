//! Lexicon: what kind of thing a surface names, from its words alone.
//!
//! In: a surface. Out: an `EntityType`, `Concept` if nothing is known. A single word is looked up
//! among well-known technologies; of several words the first decides (`Project Lantern`), then the
//! last (`Signing Service`).
//! Invariants: the answer depends on the surface only; lookups ignore case.
//! A wrong type costs little: types are decided by a vote over mentions and are never part of an entity's key.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

use model::terms::{EntityType, tokens_of};

/// Last words that decide the type of a name.
const SUFFIXES: &[(EntityType, &str)] = &[
    (
        EntityType::Organization,
        "team inc corp corporation ltd llc gmbh ag foundation university institute council committee \
        desk group \
         guild department division consortium association bank ministry agency labs company",
    ),
    (
        EntityType::Service,
        "service gateway scheduler hub broker proxy resolver registry dispatcher \
        orchestrator worker \
         daemon backend cluster ledger store queue bus cache server",
    ),
    (
        EntityType::Product,
        "platform suite studio app application desktop edition dashboard console plugin portal",
    ),
    (
        EntityType::Technology,
        "database db engine framework sdk runtime library compiler language toolkit linux os driver operator",
    ),
    (EntityType::Api, "api apis endpoint webhook"),
    (
        EntityType::Standard,
        "protocol standard specification regulation directive act license licence",
    ),
    (
        EntityType::Event,
        "conference summit meetup forum incident outage sync workshop hackathon keynote",
    ),
    (
        EntityType::Location,
        "street avenue road island river mountain lake airport city county valley",
    ),
    (EntityType::Project, "project initiative program programme"),
    (EntityType::Concept, "policy pattern principle method process model window budget test"),
];

/// First words that decide the type of a name.
const PREFIXES: &[(EntityType, &str)] = &[
    (EntityType::Project, "project operation"),
    (EntityType::Event, "incident"),
    (EntityType::Organization, "team department"),
    (EntityType::Location, "lake mount port"),
];

/// Technologies that readers know by name, one word each. They vote for a type and are never needed
/// to find a name.
const TECHNOLOGIES: &str = "
rust python javascript typescript java kotlin scala ruby perl haskell erlang elixir clojure golang php
lua sql postgresql postgres mysql mariadb sqlite redis kafka rabbitmq nats memcached mongodb cassandra
elasticsearch opensearch clickhouse influxdb prometheus grafana jaeger zipkin opentelemetry graphite
statsd datadog kubernetes docker podman containerd helm terraform ansible jenkins github gitlab bitbucket
git subversion linux ubuntu debian fedora freebsd macos ios android nginx apache haproxy envoy istio
consul etcd zookeeper http https http2 tls ssl ssh tcp udp dns dhcp ftp smtp imap ldap oauth oauth2 saml
jwt grpc graphql websocket mqtt amqp json yaml toml xml html css csv protobuf markdown latex regex
unicode react angular vue svelte django flask rails spring laravel nodejs webpack cargo npm yarn maven
gradle cmake aws azure gcp heroku cloudflare vercel netlify openstack hadoop spark flink airflow sha md5
aes rsa hmac ecdsa ed25519 hkdf argon2 bcrypt utf ascii base64 vscode vim neovim emacs intellij xcode
eclipse obsidian notion logseq
";

/// Last humps that make a CamelCase word the name of a piece of code.
const CODE_HUMPS: &str = "
job task handler manager factory error exception builder client server config controller repository
provider adapter listener observer iterator parser writer reader request response event message state
context options params settings info data type id key value list map set queue pool lock guard node tree
view model spec impl test mock util utils helper wrapper base mode entry record
";

/// Common nouns, besides [`SUFFIXES`], that say what kind of thing something is.
const NOUNS: &[(EntityType, &str)] = &[
    (
        EntityType::Organization,
        "firm organization organisation startup agency publisher vendor charity club band airline manufacturer maker \
         supplier retailer restaurant school college hospital museum newspaper magazine union party orchestra choir",
    ),
    (EntityType::Service, "system microservice website site"),
    (
        EntityType::Product,
        "product program software tool package editor browser client device phone camera game",
    ),
    (EntityType::Technology, "module crate extension format algorithm parser stack"),
    (
        EntityType::Location,
        "town village region district country island building lake peninsula continent state province capital port \
         harbor harbour bay beach forest desert wetland park hill volcano suburb neighborhood square",
    ),
    (EntityType::Project, "repository"),
    (EntityType::Event, "meeting event release"),
    (
        EntityType::Person,
        "author engineer developer scientist professor mathematician physicist writer founder accountant actor actress \
         architect artist astronaut astronomer attorney auditor baker banker barber biologist bookkeeper butcher \
         carpenter cashier chef chemist clerk coach cook composer consultant dancer dentist designer detective doctor \
         driver economist electrician farmer firefighter fisherman gardener geologist guitarist historian \
         journalist judge lawyer lecturer librarian lieutenant linguist mechanic merchant midwife miner musician nurse \
         officer painter pharmacist philosopher photographer pianist pilot plumber poet politician postman priest \
         programmer psychologist receptionist researcher sailor sculptor secretary sergeant singer soldier surgeon \
         surveyor tailor teacher technician therapist translator veterinarian violinist waiter waitress welder \
         daughter son sister brother mother father wife husband aunt uncle niece nephew cousin grandmother grandfather",
    ),
];

/// Common nouns for things that nobody founds, makes or runs: nature, food, myth, art. A company or
/// program that shares such a name is a different thing.
const NATURE: &str = "
fruit vegetable berry nut grain herb spice plant tree shrub flower grass moss fungus mushroom bacterium virus
algae animal mammal bird fish insect reptile amphibian snake lizard spider beetle bee ant butterfly moth
mollusc mollusk whale dolphin shark bear wolf fox dog cat horse cow sheep goat pig ape rodent mouse rat rabbit
deer predator breed genus species organism creature dinosaur bone muscle disease illness vitamin protein
hormone planet moon star asteroid comet constellation galaxy nebula mineral metal rock gem gemstone stone gas
alloy acid liquid ocean sea desert volcano food meal soup sauce stew cake bread pastry dessert cheese wine
beer liquor cocktail drink beverage tea coffee god goddess deity titan demigod nymph dragon myth song opera
symphony poem novel dance
";

static NATURE_NOUNS: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| NATURE.split_whitespace().collect());
static BY_NOUN: LazyLock<FxHashMap<&'static str, EntityType>> = LazyLock::new(|| index(NOUNS));
static BY_SUFFIX: LazyLock<FxHashMap<&'static str, EntityType>> = LazyLock::new(|| index(SUFFIXES));
static BY_PREFIX: LazyLock<FxHashMap<&'static str, EntityType>> = LazyLock::new(|| index(PREFIXES));
static BY_NAME: LazyLock<FxHashMap<&'static str, EntityType>> =
    LazyLock::new(|| index(&[(EntityType::Technology, TECHNOLOGIES)]));
static BY_HUMP: LazyLock<FxHashMap<&'static str, EntityType>> =
    LazyLock::new(|| index(&[(EntityType::Identifier, CODE_HUMPS)]));

fn index(rows: &[(EntityType, &'static str)]) -> FxHashMap<&'static str, EntityType> {
    rows.iter().flat_map(|(t, words)| words.split_whitespace().map(|word| (word, *t))).collect()
}

/// Returns the type of a name of one or more words.
pub fn type_of(surface: &str) -> EntityType {
    let words: Vec<String> = surface.split_whitespace().map(str::to_lowercase).collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return EntityType::Concept;
    };
    if words.len() == 1 {
        return if is_technology(first) { EntityType::Technology } else { EntityType::Concept };
    }
    BY_PREFIX
        .get(first.as_str())
        .or_else(|| BY_SUFFIX.get(last.as_str()))
        .copied()
        .unwrap_or(EntityType::Concept)
}

/// Returns the type of what a common noun such as `service`, `team` or `library` denotes, `None`
/// for other words.
pub(crate) fn type_of_noun(noun: &str) -> Option<EntityType> {
    BY_SUFFIX.get(noun).copied().or_else(|| BY_NOUN.get(noun).copied())
}

/// Returns whether a common noun belongs to nature, food, myth or art.
pub(crate) fn is_nature(noun: &str) -> bool {
    NATURE_NOUNS.contains(noun)
}

/// Returns whether names of a known kind end in this word (`Team`, `Service`): capitalized words
/// before it are a name even if they are ordinary.
pub(crate) fn is_suffix(word: &str) -> bool {
    BY_SUFFIX.contains_key(word.to_lowercase().as_str())
}

/// Returns whether a word says how a company is constituted, and may be left out at the end of its name.
pub(crate) fn is_legal_form(word: &str) -> bool {
    const LEGAL_FORMS: [&str; 14] = [
        "inc",
        "incorporated",
        "corp",
        "corporation",
        "ltd",
        "limited",
        "llc",
        "co",
        "company",
        "gmbh",
        "ag",
        "plc",
        "sa",
        "bv",
    ];
    LEGAL_FORMS.iter().any(|form| form.eq_ignore_ascii_case(word.trim_end_matches('.')))
}

/// Returns whether a lowercase word is a technology that readers know by name.
pub fn is_technology(lower: &str) -> bool {
    BY_NAME.contains_key(lower)
}

/// Returns whether a word is at most three lowercase letters followed by only capitals and digits,
/// or the plural of such a word.
fn is_abbreviation(word: &str) -> bool {
    let word = word.strip_suffix('s').unwrap_or(word);
    let rest = word.trim_start_matches(char::is_lowercase);
    word.len() - rest.len() <= 3 && rest.len() >= 2 && !rest.contains(char::is_lowercase)
}

/// Returns the type of a CamelCase word in running text: `GitHub` is a well-known technology,
/// `KeyRotationJob` a piece of code, `EphA4` may be anything.
pub(crate) fn type_of_camel(word: &str) -> EntityType {
    let humps = tokens_of(word);
    let first_is_small = word.starts_with(char::is_lowercase);
    let whole: String = humps.concat();
    if is_technology(&whole) {
        return EntityType::Technology;
    }
    // `mRNAs` and `qPCR` may abbreviate anything.
    if first_is_small && is_abbreviation(word) {
        return EntityType::Concept;
    }
    // `dueDate` is code; `iPhone` and `gRPC` are not.
    let begins_small = first_is_small && humps.first().is_some_and(|hump| hump.len() > 2);
    let ends_like_code =
        begins_small || humps.last().is_some_and(|hump| BY_HUMP.contains_key(hump.as_str()));
    match humps.last().and_then(|hump| BY_SUFFIX.get(hump.as_str())) {
        _ if ends_like_code => EntityType::Identifier,
        Some(entity_type) => *entity_type,
        None => EntityType::Concept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_tell_their_type() {
        for (surface, entity_type) in [
            ("Signing Service", EntityType::Service),
            ("Trust Team", EntityType::Organization),
            ("Project Lantern", EntityType::Project),
            ("Orders API", EntityType::Api),
            ("Raft Protocol", EntityType::Standard),
            ("PostgreSQL", EntityType::Technology),
            ("Ada Moreno", EntityType::Concept),
            ("", EntityType::Concept),
        ] {
            assert_eq!(type_of(surface), entity_type, "{surface}");
        }
    }

    #[test]
    fn humps_tell_code_from_products() {
        for (surface, entity_type) in [
            ("GitHub", EntityType::Technology),
            ("KeyRotationJob", EntityType::Identifier),
            ("TokenParser", EntityType::Identifier),
            ("CircleCI", EntityType::Concept),
            ("EphA4", EntityType::Concept),
            ("dueDate", EntityType::Identifier),
            ("gRPC", EntityType::Technology),
            ("mRNA", EntityType::Concept),
            ("lncRNAs", EntityType::Concept),
            ("vmPFC", EntityType::Concept),
        ] {
            assert_eq!(type_of_camel(surface), entity_type, "{surface}");
        }
    }
}
