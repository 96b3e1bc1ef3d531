//! Imperatives: `Call Marcus before noon` names Marcus, not somebody called Call Marcus.
//!
//! In: a document's mentions. Out: the same mentions; where a sentence, line or item begins with
//! the verb of a request, the name begins after the verb.
//! Invariants: changes only what a pattern or a model found, never what an author stated or the
//! gazetteer knows; a name of ordinary words (`Call Center`, `Open Source`) stays whole, because it
//! may be one. Linear.

use super::{lexicon, words};
use model::document::{Document, Mention, RecognizerKind};
use model::terms::{EntityType, Span};

/// Verbs of requests whose object is a person.
const TO_PEOPLE: &str = " call tell email mail ask invite ping thank remind phone message meet contact notify greet \
    pay text brief congratulate ";

/// Verbs of requests with any object.
const TO_THINGS: &str = " use try install open start stop restart run deploy upgrade update add remove replace buy \
    get check see visit read join watch move send give show bring let make fix review configure enable disable \
    book order change preserve reuse adopt create rename drop bump implement improve support convert expose \
    simplify introduce allow ensure refactor deprecate prevent export import migrate extend handle ";

/// Removes a leading verb from each mention.
pub(super) fn trim(doc: &Document, mentions: &mut [Mention]) {
    for mention in mentions {
        let is_found =
            matches!(mention.recognizer, RecognizerKind::Pattern | RecognizerKind::Statistical);
        let text = mention.span.of(&doc.text);
        let Some((verb, name)) = text.split_once(' ').filter(|_| is_found && mention.name == text)
        else {
            continue;
        };
        let verb = format!(" {} ", verb.to_lowercase());
        let is_to_person = TO_PEOPLE.contains(&verb);
        let is_name = name.starts_with(char::is_uppercase)
            && name.split(' ').next().is_some_and(|word| !words::is_ordinary(word));
        if !(is_to_person || TO_THINGS.contains(&verb))
            || !is_name
            || !begins(doc, mention.span.start())
        {
            continue;
        }
        let end = mention.span.end();
        mention.name = name.to_string();
        mention.span = Span::new(end - name.len(), end);
        // The object of such a verb is a person; after other verbs the name's own words decide.
        if is_to_person {
            mention.entity_type = EntityType::Person;
            mention.place.is_type_guessed = true;
        } else if !mention.place.is_type_guessed {
            mention.entity_type = lexicon::type_of(&mention.name);
        }
    }
}

/// Returns whether `start` begins a sentence, a line or a list item.
fn begins(doc: &Document, start: usize) -> bool {
    let before = doc.text.get(..start).unwrap_or("").trim_end_matches([' ', '"', '“', '*', '-']);
    before.is_empty() || before.ends_with(['\n', '.', '!', '?', ':', ';', ']', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::document::{PlaceFeatures, testing};
    use model::terms::Confidence;

    #[test]
    fn a_request_is_no_part_of_a_name() {
        for (text, found, name) in [
            ("Call Marcus before noon.", "Call Marcus", "Marcus"),
            ("He is ill. Email Ruth Adler the plan.", "Email Ruth Adler", "Ruth Adler"),
            ("- Install Grafana there.", "Install Grafana", "Grafana"),
            ("Call Center staff is here.", "Call Center", "Call Center"),
            ("We like Call Marcus, a band.", "Call Marcus", "Call Marcus"),
            ("Marcus Call is here.", "Marcus Call", "Marcus Call"),
        ] {
            let doc = testing::doc(text);
            let start = doc.text.find(found).expect("it stands there");
            let mut mentions = [Mention {
                span: Span::new(start, start + found.len()),
                name: found.to_string(),
                entity_type: EntityType::Organization,
                recognizer: RecognizerKind::Statistical,
                score: Confidence::new(0.6),
                place: PlaceFeatures { is_type_guessed: true, ..PlaceFeatures::default() },
            }];
            trim(&doc, &mut mentions);
            assert_eq!((mentions[0].name.as_str(), mentions[0].span.of(&doc.text)), (name, name));
            let was_cut = name != found && !found.starts_with("Install");
            assert_eq!(mentions[0].entity_type == EntityType::Person, was_cut, "{text}");
        }
    }
}
