//! Split: decides whether one norm names several things, by how each document uses it.
//!
//! In: a reading for each document: the kind of thing that it says the name is, how it writes the name, and a vector
//! of the words around it. Out: at least two groups of documents that mean the same, or none.
//! Invariants: the same readings give the same groups, in whatever order they came; a name is split only when
//! documents disagree about the kind *and* their subjects have nothing in common: either alone is as often a
//! recognizer's error, or one thing that is known in two fields; guesses of a statistical model conflict only with
//! ordinary words.

use std::collections::BTreeSet;

use embed::cosine;
use model::document::UnitVector;
use model::terms::Kind;

/// Cosine from which two documents are about the same field.
pub const SAME_FIELD: f32 = 0.30;

/// Cosine below which two nouns define different things: `baker` and `engineer`, `planet` and `metal`. Pairs of nouns
/// for one thing, such as `fruit` and `tree`, or `baker` and `chef`, are above it.
const SAME_DEFINITION: f32 = 0.20;

/// Margin in cosine by which a document must be nearer to one group than to any other to join it.
const CLEARLY_NEARER: f32 = 0.08;

/// Most documents of a name that can be split; a more frequent name is taken for one thing.
pub const MAX_READINGS: usize = 64;

/// How one document uses the name.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The document; a handle.
    pub doc: i64,
    /// Its path, which orders readings. Two documents in the same first folder may mean the same person.
    pub path: String,
    /// The kind of thing that it says the name is, if it does.
    pub kind: Option<Kind>,
    /// True when only a statistical model gives the kind.
    pub is_guess: bool,
    /// The vector of the noun that defines it, where a sentence does: `baker`, `fruit`.
    pub definition: Option<UnitVector>,
    /// True when it is capitalized where an ordinary word would not be.
    pub is_proper: bool,
    /// Vector of the words around it and of the document's title.
    pub context: UnitVector,
}

/// Documents that mean the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The kind they agree on.
    pub kind: Kind,
    /// Their handles, ordered by path.
    pub docs: Vec<i64>,
}

/// Returns groups of documents by what they mean, ordered by their first path, and documents that could belong to
/// several. Both are empty when the name is one thing. `is_given_name`: the norm is one word, so two documents that
/// use it for a person need not mean the same person.
pub fn groups_of(readings: &[Reading], is_given_name: bool) -> (Vec<Group>, Vec<i64>) {
    let nothing = (Vec::new(), Vec::new());
    if readings.len() > MAX_READINGS {
        return nothing;
    }
    let readings = &without_undefined(without_stray_guesses(readings), is_given_name);
    let mut sure: Vec<&Reading> = readings.iter().filter(|it| it.kind.is_some()).collect();
    sure.sort_by(|a, b| a.path.cmp(&b.path));
    // Single linkage: a reading joins every group with a member that means the same, and so merges these groups.
    let mut groups: Vec<Vec<&Reading>> = Vec::new();
    for reading in sure {
        let is_one = |group: &Vec<&Reading>| {
            group.iter().any(|other| mean_the_same(reading, other, is_given_name))
        };
        let (joined, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_one);
        groups = apart;
        groups.push(joined.into_iter().flatten().chain([reading]).collect());
    }
    if groups.len() < 2 {
        return nothing;
    }
    let unsure = place_others(readings, &mut groups);
    for group in &mut groups {
        group.sort_by(|a, b| a.path.cmp(&b.path));
    }
    groups.sort_by(|a, b| a.first().map(|it| &it.path).cmp(&b.first().map(|it| &it.path)));
    let whole = |group: Vec<&Reading>| {
        let kind = most_frequent(&group)?;
        Some(Group { kind, docs: group.iter().map(|it| it.doc).collect() })
    };
    (groups.into_iter().filter_map(whole).collect(), unsure)
}

/// Drops guesses that conflict only with other readings. A guess whose kind no document states is replaced: by no
/// kind if any document states one, otherwise by the most frequent guess. Where one document defines a fruit and
/// another states a company, no guess decides.
fn without_stray_guesses(readings: &[Reading]) -> Vec<Reading> {
    let stated: BTreeSet<Kind> =
        readings.iter().filter(|it| !it.is_guess).filter_map(|it| it.kind).collect();
    let is_open = stated.contains(&Kind::Nature) && stated.iter().any(|kind| !kind.is_word());
    let is_stated = |kind: &Kind| stated.contains(kind) && !is_open;
    let guesses: Vec<&Reading> = readings.iter().filter(|it| it.is_guess).collect();
    let usual = match stated.iter().any(|kind| !kind.is_word()) {
        true => None,
        false => most_frequent(&guesses),
    };
    let with_kind = |reading: &Reading| match reading.is_guess {
        true => Reading {
            kind: reading.kind.filter(is_stated).or(reading.kind.and(usual)),
            ..reading.clone()
        },
        false => reading.clone(),
    };
    readings.iter().map(with_kind).collect()
}

/// Removes the kind of documents without a definition where definitions separate things of that kind: such a document
/// could mean any of them.
fn without_undefined(mut readings: Vec<Reading>, is_given_name: bool) -> Vec<Reading> {
    for kind in [Kind::Person, Kind::Nature] {
        let defined: Vec<&Reading> =
            readings.iter().filter(|it| it.kind == Some(kind) && it.definition.is_some()).collect();
        let are_apart = defined
            .iter()
            .any(|one| defined.iter().any(|other| !mean_the_same(one, other, is_given_name)));
        for reading in readings.iter_mut().filter(|it| are_apart && it.definition.is_none()) {
            let is_word = kind.is_word() && reading.kind.is_some_and(|it| it.is_word());
            if is_word || reading.kind == Some(kind) {
                reading.kind = None;
            }
        }
    }
    readings
}

/// True when two documents that say what they mean must be taken to mean the same.
fn mean_the_same(one: &Reading, other: &Reading, is_given_name: bool) -> bool {
    let is_one_field = cosine(&one.context, &other.context) >= SAME_FIELD;
    if one.kind == other.kind {
        let is_person = is_given_name && one.kind == Some(Kind::Person);
        let may_be_two = is_person && one.folder() != other.folder()
            || (is_person || one.kind == Some(Kind::Nature)) && are_defined_apart(one, other);
        return is_one_field || !may_be_two;
    }
    match [one, other].map(|it| it.kind.filter(Kind::is_word)) {
        [Some(_), Some(_)] => true,
        // A product is often called by its maker's name, and a maker by its product's.
        [None, None] => {
            let are_maker_and_product = [one, other]
                .iter()
                .all(|it| matches!(it.kind, Some(Kind::Organization | Kind::Thing)));
            is_one_field && (are_maker_and_product || !are_defined_apart(one, other))
        }
        // What a definition calls a fruit is not a company, in any field.
        _ => {
            let is_defined = [one, other].iter().any(|it| it.kind == Some(Kind::Nature));
            let is_stated = !one.is_guess && !other.is_guess;
            is_one_field && !(is_defined && is_stated)
        }
    }
}

/// True when both are defined, by nouns that have nothing in common.
fn are_defined_apart(one: &Reading, other: &Reading) -> bool {
    matches!((&one.definition, &other.definition), (Some(a), Some(b)) if cosine(a, b) < SAME_DEFINITION)
}

impl Reading {
    fn folder(&self) -> &str {
        self.path.split_once('/').map_or("", |(folder, _)| folder)
    }
}

/// Puts each document without a kind into the group whose subject is clearly the nearest, or into the only group
/// possible; returns the others, by path.
fn place_others<'a>(readings: &'a [Reading], groups: &mut [Vec<&'a Reading>]) -> Vec<i64> {
    let mut others: Vec<&Reading> = readings.iter().filter(|it| it.kind.is_none()).collect();
    others.sort_by(|a, b| a.path.cmp(&b.path));
    let mut unsure = Vec::new();
    let mut placed: Vec<(usize, &'a Reading)> = Vec::new();
    for reading in others {
        let near = |group: &Vec<&Reading>| {
            group.iter().map(|it| cosine(&reading.context, &it.context)).fold(-1.0f32, f32::max)
        };
        // A word that is capitalized within a sentence is not an ordinary word.
        let may_be = |group: &&mut Vec<&Reading>| !reading.is_proper || is_proper(group);
        let mut scores: Vec<(f32, usize)> = groups
            .iter_mut()
            .enumerate()
            .filter(|(_, group)| may_be(group))
            .map(|(i, group)| (near(group), i))
            .collect();
        scores.sort_by(|a, b| b.0.total_cmp(&a.0));
        match scores.as_slice() {
            [(_, group)] => placed.push((*group, reading)),
            [(best, group), (second, _), ..]
                if *best >= SAME_FIELD && best - second >= CLEARLY_NEARER =>
            {
                placed.push((*group, reading));
            }
            _ => unsure.push(reading.doc),
        }
    }
    // Only now: a document that was placed must not attract the next one, or the order of paths would decide.
    for (group, reading) in placed {
        groups.get_mut(group).into_iter().for_each(|group| group.push(reading));
    }
    unsure
}

/// True for a group that means a proper name, or a word that is written like one, such as planets.
fn is_proper(group: &[&Reading]) -> bool {
    group.iter().any(|it| it.is_proper || !it.kind.is_some_and(|kind| kind.is_word()))
}

fn most_frequent(group: &[&Reading]) -> Option<Kind> {
    let count = |kind: Kind| group.iter().filter(|it| it.kind == Some(kind)).count();
    let kinds = group.iter().filter_map(|it| it.kind);
    kinds.max_by_key(|kind| (count(*kind), std::cmp::Reverse(*kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A unit vector at this angle, in degrees.
    fn at(degrees: f32) -> UnitVector {
        let (sin, cos) = degrees.to_radians().sin_cos();
        UnitVector(Box::from([(cos * 127.0) as i8, (sin * 127.0) as i8]))
    }

    fn reading(doc: i64, kind: Option<Kind>, degrees: f32) -> Reading {
        let path = format!("{doc}.md");
        Reading {
            doc,
            path,
            kind,
            is_guess: false,
            definition: None,
            is_proper: false,
            context: at(degrees),
        }
    }

    #[test]
    fn guesses_part_nothing_but_words_from_names() {
        let guess =
            |doc, kind, degrees| Reading { is_guess: true, ..reading(doc, Some(kind), degrees) };
        let two = [guess(1, Kind::Location, 0.0), guess(2, Kind::Organization, 90.0)];
        assert_eq!(groups_of(&two, false), (vec![], vec![]));
        let against_stated = [reading(1, Some(Kind::Person), 0.0), guess(2, Kind::Thing, 90.0)];
        assert_eq!(groups_of(&against_stated, false), (vec![], vec![]));
        let against_word = [
            guess(1, Kind::Organization, 0.0),
            guess(2, Kind::Organization, 10.0),
            guess(3, Kind::Person, 5.0),
            reading(4, Some(Kind::Common), 90.0),
        ];
        let (groups, unsure) = groups_of(&against_word, false);
        assert_eq!(
            groups.iter().map(|it| it.kind).collect::<Vec<_>>(),
            [Kind::Organization, Kind::Common]
        );
        assert_eq!((groups[0].docs.as_slice(), unsure.len()), ([1, 2, 3].as_slice(), 0));
    }

    #[test]
    fn a_company_and_a_fruit_are_two_things() {
        let readings = [
            reading(1, Some(Kind::Organization), 0.0),
            reading(2, Some(Kind::Organization), 10.0),
            reading(3, Some(Kind::Common), 90.0),
            reading(4, None, 85.0),
            reading(5, None, 47.0),
        ];
        let (groups, unsure) = groups_of(&readings, false);
        assert_eq!(
            groups,
            [
                Group { kind: Kind::Organization, docs: vec![1, 2] },
                Group { kind: Kind::Common, docs: vec![3, 4] },
            ]
        );
        assert_eq!(unsure, [5], "it stands between both");
    }

    #[test]
    fn other_kinds_in_one_field_are_an_error_of_the_recognizer() {
        let readings =
            [reading(1, Some(Kind::Organization), 0.0), reading(2, Some(Kind::Thing), 40.0)];
        assert_eq!(groups_of(&readings, false), (vec![], vec![]));
    }

    #[test]
    fn one_kind_in_two_fields_is_one_thing() {
        let readings = [reading(1, Some(Kind::Thing), 0.0), reading(2, Some(Kind::Thing), 90.0)];
        assert_eq!(groups_of(&readings, false), (vec![], vec![]));
    }

    #[test]
    fn what_is_defined_as_a_fruit_is_no_company_in_whatever_field() {
        let defined = |doc, kind, degrees, noun| Reading {
            definition: Some(at(noun)),
            ..reading(doc, Some(kind), degrees)
        };
        let proper = Reading { is_proper: true, ..reading(4, None, 20.0) };
        let guess = Reading {
            is_guess: true,
            is_proper: true,
            ..reading(5, Some(Kind::Organization), 5.0)
        };
        let readings = [
            defined(1, Kind::Nature, 0.0, 0.0),
            defined(2, Kind::Organization, 10.0, 90.0),
            reading(3, Some(Kind::Common), 90.0),
            // Nearer to the fruit, but written like a name.
            proper.clone(),
        ];
        let (groups, unsure) = groups_of(&readings, false);
        let docs: Vec<&[i64]> = groups.iter().map(|it| it.docs.as_slice()).collect();
        assert_eq!((docs, unsure.len()), (vec![&[1, 3][..], &[2, 4][..]], 0));
        // Planets are written large, too.
        let planet = Reading { is_proper: true, ..readings[0].clone() };
        let (_, unsure) = groups_of(&[planet, readings[1].clone(), proper, guess], false);
        assert_eq!(unsure, [4, 5]);
    }

    #[test]
    fn definitions_with_nothing_in_common_are_of_two_things() {
        let defined = |doc, kind, degrees, noun| Reading {
            definition: Some(at(noun)),
            ..reading(doc, Some(kind), degrees)
        };
        let n_groups = |readings: &[Reading], is_given| groups_of(readings, is_given).0.len();
        let people = [
            defined(1, Kind::Person, 0.0, 0.0),
            defined(2, Kind::Person, 90.0, 90.0),
            reading(3, Some(Kind::Person), 88.0),
            reading(4, Some(Kind::Person), 45.0),
        ];
        let (groups, unsure) = groups_of(&people, true);
        assert_eq!(groups.iter().map(|it| it.docs.len()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(unsure, [4], "either may be meant");
        assert_eq!(n_groups(&people, false), 0, "a whole name");
        let (one, other) = (&people[0], &people[1]);
        let baker_and_chef = [one.clone(), Reading { definition: Some(at(30.0)), ..other.clone() }];
        assert_eq!(n_groups(&baker_and_chef, true), 0);
        let planet_and_metal =
            [one, other].map(|it| Reading { kind: Some(Kind::Nature), ..it.clone() });
        assert_eq!(n_groups(&planet_and_metal, false), 2);
        let one_field = [one.clone(), Reading { context: at(20.0), ..other.clone() }];
        assert_eq!(n_groups(&one_field, true), 0);
        let [river, company, product] = [Kind::Location, Kind::Organization, Kind::Thing]
            .map(|kind| Reading { kind: Some(kind), ..one_field[1].clone() });
        let river = Reading { definition: Some(at(0.0)), ..river };
        assert_eq!(n_groups(&[river.clone(), company.clone()], false), 2);
        let maker = Reading { definition: Some(at(0.0)), ..company };
        assert_eq!(n_groups(&[maker, product], false), 0);
    }

    #[test]
    fn two_people_of_one_given_name_are_kept_apart_by_folder_and_field() {
        let mut readings =
            [reading(1, Some(Kind::Person), 0.0), reading(2, Some(Kind::Person), 90.0)];
        assert_eq!(groups_of(&readings, true).0.len(), 0, "one folder");
        readings[1].path = "bakery/2.md".into();
        assert_eq!(groups_of(&readings, true).0.len(), 2);
        assert_eq!(groups_of(&readings, false).0.len(), 0, "a whole name");
        readings[1].context = at(30.0);
        assert_eq!(groups_of(&readings, true).0.len(), 0, "one field");
    }

    proptest! {
        #[test]
        fn the_order_of_readings_does_not_matter(
            rows in proptest::collection::vec((0u8..7, 0u16..180, any::<(bool, bool, bool)>()), 2..12),
            seed in 0u64..1000,
        ) {
            let kinds = [None, Some(Kind::Person), Some(Kind::Organization), Some(Kind::Location),
                Some(Kind::Thing), Some(Kind::Nature), Some(Kind::Common)];
            let readings: Vec<Reading> = rows.iter().enumerate()
                .map(|(i, (kind, degrees, (is_guess, is_proper, is_defined)))| Reading {
                    is_guess: *is_guess,
                    is_proper: *is_proper,
                    definition: is_defined.then(|| at(f32::from(*degrees * 7 % 180))),
                    ..reading(i as i64, kinds[*kind as usize], f32::from(*degrees))
                })
                .collect();
            let mut other = readings.clone();
            other.sort_by_key(|it| xxhash_rust::xxh3::xxh3_64_with_seed(it.path.as_bytes(), seed));
            for is_given_name in [false, true] {
                prop_assert_eq!(groups_of(&readings, is_given_name), groups_of(&other, is_given_name));
            }
        }
    }
}
