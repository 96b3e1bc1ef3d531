//! Words: the English words that name nothing by themselves.
//!
//! In: one word, in any case. Out: whether it is a function word (no n-gram begins or ends with
//! one) or an ordinary word (never a name by itself). Every function word is ordinary.
//! Invariants: the lists are lowercase ASCII; lookups allocate nothing.

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// Longest listed word, in bytes; a longer one is not in a list.
const MAX_WORD_BYTES: usize = 20;

/// Shortest token, in bytes.
const MIN_TOKEN: usize = 16;

/// Articles, pronouns, prepositions, conjunctions, auxiliaries and the adverbs that behave like them.
const FUNCTION: &str = "
a an the this that these those i you he she it we they me him her us them my your his its our their mine
yours ours theirs myself yourself itself themselves who whom whose which what where when why how of in on
at by for with without within from to into onto upon over under above below between among through during
before after since until till against about around across along behind beside besides beyond despite
except inside outside off out up down near per plus than toward towards via versus vs like unlike as and
or but nor so yet if then else because although though while whereas whether unless once either neither
both be am is are was were been being do does did done doing have has had having can could may might must
shall should will would cannot ought let lets not no never none nothing nobody nowhere only also too very
just even still already again always often sometimes usually rarely ever however therefore thus hence
otherwise instead moreover furthermore meanwhile indeed perhaps maybe rather quite almost enough such
same other another each every all any some many much more most few fewer less least several own here
there now today yesterday tomorrow later soon yes ok okay please etc eg ie s t d m don doesn didn isn
aren wasn weren won wouldn couldn shouldn hasn haven ll ve re
";

/// The common nouns, verbs and adjectives of documents, documentation above all.
const COMMON: &str = "
abstract accept accepted access accessible account action actions active activity actual actually add
added adding addition additional address admin advanced advantage advice agenda agree aim alert allow
allowed allows alone alternative alternatives amount analysis announcement answer answers appear appendix
applies apply approach appropriate area areas argument arguments article articles ask asked aspect assert
assets assign assume attach attention attribute attributes author authors auto automatic automatically
available avoid aware background backup bad base based basic basics become becomes begin beginning
behavior behaviour benefit benefits best better big bit blank block blocks blog board body book books
bool boolean both bottom box branch break brief bring broken browser bug bugs build builds building built
bundle bus business button buttons byte bytes cache calculate call called caller calls came capability
card care careful case cases catch category cause cell center central certain chain challenge change
changed changelog changes channel chapter chapters char character characters chat check checked checklist
checks child children choice choices choose clean clear clearly click client clients close closed closer
cloud cluster code collection color column columns combine come comes command commands comment comments
commit common community company compare comparison compatible complete completed completely complex
component components comprehensive compute computer concept concepts conclusion condition conditional
conditions config configuration configure configured confirm connect connection consequence consequences
consider consist consistent console constant contact contain container contains content contents context
continue contribute contributing contribution contributions contributor contributors control convention
conventions convert copy core correct correctly cost count counter course cover crash create created
creates creating creation credits critical current currently custom customer customize cut cycle daily
data database datasource date dates day days deal debug decide decided decision decisions deep default
defaults define defined defines definition definitions delete deleted demo depend dependencies dependency
depends deploy deployment depth describe described description design desktop destination detail detailed
details detect develop developer developers development device devices diagram dialog difference
different difficult digital direct direction directly directories directory disable disabled discuss
discussion disk display docs document documentation documents domain double download downloads draft drag
drive drop due duplicate duration dynamic earlier early easier easily easy edge edit edited editing
editor effect effective effort element elements email embed empty enable enabled encoding end ended
ending endpoint endpoints ends engine engineer engineers enter entire entities entity entries entry
environment environments equal error errors event events exact exactly examine example examples excellent
exception exclude execute execution exercise exercises exist existing exists exit expand expect expected
experience experimental expert explain explained explanation explicit explore export exporter expose
expression expressions extend extended extension extensions external extra face fact factor fail failed
fails failure failures false familiar family faq far fast faster feature features feed feedback feel
field fields figure file filename files fill filter filters final finally find finding fine finish
finished first fit fix fixed fixes flag flags flat flexible float flow focus folder folders follow
followed following follows font footer force foreign form formal format formats formatting forms formula
forward found four free frequently fresh friend friendly front full fully fun function functional
functions further future gather general generally generate generated generic get gets getting give given
gives glance global glossary goal goals goes going good got grant graph great green grid group grouping
groups grow guess guide guideline guidelines guides half hall hand handle handler handling happen happens
hard hardware head header headers heading headings health hello help helper helpful helps hide high
higher highlight hint hints history hold hole home hook hooks host hour hours hover human icon idea ideal
ideas identifier identify ids ignore image images impact implement implementation implementations import
important improve improved improvement improvements include included includes including incident increase
index indicate individual info information initial inline input inputs insert inside inspect install
installation installed installing installs instance instances instead instruction instructions int
integer integrate integration integrations interact interactive interest interesting interface interfaces
internal internet interval introduce introduced introduces introduction invalid involve issue issues item
items job jobs join jump june keep keeps key keyboard keys keyword keywords kind kinds know knowledge
known label labels land language languages large larger last late latest launch law layer layout lead
leading learn learned learning leave left length let letter letters level levels libraries library
license licence life light limit limitation limitations limited limits line lines link linked linking
links list listed lists literal little live load loading local locale location log logging logic login
logs long longer look looking looks loop loss lot low lower made magic mail main mainly maintain
maintainer maintainers maintenance major make makes making manage management manager manual manually map
mapping maps mark marked markup match matched matches matching material matter maximum mean meaning
meaningful means measure mechanism media meet meeting member members memory mention menu merge message
messages meta metadata method methods metric metrics middle migrate migration mind minimal minimum minor
minute minutes miss missing mistake mix mobile mode model models modern modes modified modify module
modules moment money monitor monitoring month months mostly motivation mount mouse move moved moving
multi multiple music name named names namespace native natural navigate navigation necessary need needed
needs nested network networking new newer newest news next nice node nodes non normal normally note
notebook notes notice notification notifications number numbers numeric object objects observation observations
observe obtain obvious occur occurs offer official offline old older one ones online onwards open opened opening opens
operate operation operations operator operators opinion optimize option optional options order ordered
organization organize origin original os outcome outline output outputs overall override overview owner
owners pack package packages page pages pair pane panel paragraph parameter parameters parent park parse
part partial particular parts party pass passed password past paste patch path paths pattern patterns pay
people percent perfect perform performance period permission permissions person personal phone phrase
pick picture piece pieces pipeline place placeholder places plain plan platform play player plugin
plugins point pointer points policies policy pool popular port position positive possible post posts
potential power powerful practice practices prefer preference preferences prefix prepare prerequisite
prerequisites present press prevent preview previous previously price primary principle principles print
prior private probably problem problems procedure procedures proceed process processes processing produce
product production products profile profiles program programming programs progress project projects
prompt proper properly properties property proposal propose protect protocol prove provide provided
provider provides public publish pull purpose push put quality queries query question questions queue
quick quickly quickstart quote quotes random range rate raw reach read reader reading readme ready real
really reason reasons receive recent recently recipe recipes recommend recommendation recommendations
recommended record records recover red reduce refer reference references refresh regular reject related
relation relations relationship relationships relative release released releases
relevant reliable remain remember remote remove
removed render repeat replace replaced replacement reply report reports repository request requests
require required requirement requirements requires research reserved reset resolve resource resources
respect respond response responsibilities responsibility rest restart restore restrict restriction
restrictions result results resume return returned returns review reviewers reviews revision rich right
rights role roles root route row rows rule rules run running runs runtime safe safely safety sample
samples save saved scale schedule schema scope screen screenshot screenshots script scripts scroll search
second secondary seconds secret section sections secure security see seem seen select selected selection
send sense sent sentence separate separator sequence series server servers service services session set
sets setting settings setup seven severity shape share shared sharing shell shift short shortcut
shortcuts show showing shown shows side sidebar sign similar simple simplest simply simulate single site
sites situation six size skip slash slightly slow small smart software solution solutions solve something
sort source sources space special specific specification specifications specify speed split stable stack
stage standard standards star start started starter starting starts state statement statements states
static statistics status stay step steps stop stopped storage store stored story strategy stream strict
string strings strong structure structured study stuff style styles subject submit subscribe success
successful suggest suggestion suggestions suite summary super supply support supported supports sure
surface switch symbol sync syntax system systems tab table tables tabs tag tags take taken takes talk
target task tasks team teams technical technique techniques technologies technology tell template
templates temporary ten term terminal terminology terms test tested testing tests text thank thanks theme
theory thing things think third thought thread three threshold time timeline timeout times timestamp tip
tips title titles toc todo together toggle token tool toolbar tools top topic topics total touch track
tracking traditional traffic training transfer transform transition translate translation tree trick
trigger triggers trouble troubleshoot troubleshooting true trust try trying turn tutorial tutorials two
type types typical typically ultimate unable undo unfortunately unique unit units universal unknown
unlimited unnecessary unsupported upcoming update updated updates updating upgrade upgrading upload upper
url usage use used useful user users uses using utility valid validate validation valuable value values
variable variables variant variants variety various vault vector verify version versions video view
viewer views virtual visible vision visit visual wait walk walkthrough want warning warnings watch way
ways web website week weeks welcome well went whole wide widget width wiki wild window windows wish word
words work workaround worked worker workflow workflows working works workspace world worry worth write
writer writing written wrong year years zero zone monday tuesday wednesday thursday friday saturday
sunday january february march april may june july august september october november december jan feb mar
apr jun jul aug sep sept oct nov dec am pm dear hi hey sorry congratulations cheers happy merry api apis
id ids url urls uri uris ui ux os pc cli gui cpu cpus ram ip pdf ok tldr aka eta fyi wip usa us uk eu ii
iii iv vi vii viii ix xi xii kb mb gb tb ms associated binary breaking classic cancelled canceled
compatibility displayed ecosystem functionality highest largest listing listings lowest machine machines
medium negative overdue practical priorities priority recording recordings repo sender receiver suffix
suffixes automated combined derived discovered reverse translations appendix philosophy privacy
assumptions motivation symbols spaces strategies get put head patch delete post trace null nil undefined
nan true false void main self super impl struct enum const static mut pub mod fn def class var let elif
endif foo bar baz qux lorem ipsum stdin stdout stderr todo fixme tbd na select insert update where join
order limit offset values synopsis copyright acknowledgements acknowledgments enables disables provides
adds removes allows returns supports requires implements includes replaces ensures creates requesting
";

static FUNCTION_WORDS: WordSet = LazyLock::new(|| word_set(FUNCTION));

static ORDINARY_WORDS: WordSet =
    LazyLock::new(|| FUNCTION.split_whitespace().chain(COMMON.split_whitespace()).collect());

/// Returns whether the word only connects others (`the`, `of`, `with`), in any case.
pub(crate) fn is_function_word(word: &str) -> bool {
    is_listed(word, &FUNCTION_WORDS)
}

/// Returns whether the word names nothing by itself (`overview`, `step`, `the`), in any case.
pub fn is_ordinary(word: &str) -> bool {
    is_listed(word, &ORDINARY_WORDS)
}

/// Returns whether every word of the text, split at anything but letters and digits, is ordinary.
pub fn all_ordinary(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).all(is_ordinary)
}

/// Words to look up exactly as they are written, unlike [`is_ordinary`].
pub(crate) type WordSet = LazyLock<FxHashSet<&'static str>>;

/// Returns the words of a text, separated by blanks.
pub(crate) fn word_set(text: &'static str) -> FxHashSet<&'static str> {
    text.split_whitespace().collect()
}

fn is_listed(word: &str, list: &FxHashSet<&'static str>) -> bool {
    let mut lower = [0u8; MAX_WORD_BYTES];
    let Some(buffer) = lower.get_mut(..word.len()) else { return false };
    buffer.copy_from_slice(word.as_bytes());
    buffer.make_ascii_lowercase();
    std::str::from_utf8(buffer).is_ok_and(|key| list.contains(key))
}

/// Returns whether a word is a token that a program made, such as `V1StGXR8Z5jdHi6B`: long, with digits among letters
/// of both cases that change at every second step.
pub(super) fn is_token(word: &str) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let classes = || word.bytes().map(class);
    let n_changes = classes().zip(classes().skip(1)).filter(|(a, b)| a != b).count();
    word.len() >= MIN_TOKEN
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && (0..3).all(|class| classes().any(|it| it == class))
        && n_changes * 2 >= word.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_listed_in_any_case() {
        for (word, function, ordinary) in [
            ("the", true, true),
            ("The", true, true),
            ("OVERVIEW", false, true),
            ("Kafka", false, false),
            ("Zürich", false, false),
            ("", false, false),
            ("incomprehensibilities-of-all-kinds", false, false),
        ] {
            assert_eq!(is_function_word(word), function, "{word}");
            assert_eq!(is_ordinary(word), ordinary, "{word}");
        }
    }

    #[test]
    fn every_listed_word_fits_the_buffer_and_is_lowercase() {
        for word in ORDINARY_WORDS.iter() {
            assert!(word.len() <= MAX_WORD_BYTES, "{word}");
            assert!(word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
        }
    }

    #[test]
    fn tokens_are_what_no_person_would_name() {
        for token in ["V1StGXR8Z5jdHi6B", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "aX9-bK2_mP7qR4sT"]
        {
            assert!(is_token(token), "{token}");
        }
        for name in
            ["getHTTPResponse2Code", "KubernetesV1Beta2Api", "CVE-2024-12345", "AES-256-GCM"]
        {
            assert!(!is_token(name), "{name}");
        }
    }

    #[test]
    fn a_phrase_is_ordinary_when_all_its_words_are() {
        assert!(all_ordinary("See also"));
        assert!(all_ordinary("Getting Started"));
        assert!(!all_ordinary("Kafka overview"));
    }
}
