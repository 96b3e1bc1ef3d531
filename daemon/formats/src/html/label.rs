//! Label: what the first words of an element announce, in the languages of most pages.
//!
//! In: the beginning of a run of text. Out: a [`Label`]. Invariant: a label alone drops nothing; the element must
//! also look like what it announces (`surround.rs`).
//! Not here: classes and ids (`naming.rs`).

/// What an element's first words announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// Nothing in particular.
    None,
    /// Links to other pages.
    Related,
    /// Comments of readers, or a form for them.
    Comments,
    /// Buttons, tags, advertisements.
    Furniture,
    /// A copyright line.
    Rights,
    /// The author.
    Byline,
    /// A question about cookies.
    Consent,
}

/// How much of a run is read, in characters.
const START_CHARS: usize = 60;
/// Longest run that may announce other pages or furniture, in bytes; longer ones are content.
const MAX_LABEL_BYTES: usize = 70;

const RELATED: &[&str] = &[
    "related",
    "read more",
    "read also",
    "read next",
    "also read",
    "more from",
    "more on ",
    "more stories",
    "more in ",
    "more news",
    "more like this",
    "you may also",
    "you might also",
    "you might like",
    "recommended",
    "most read",
    "most viewed",
    "most popular",
    "most shared",
    "popular ",
    "trending",
    "top stories",
    "latest ",
    "recent posts",
    "recent articles",
    "editor's pick",
    "editors' pick",
    "don't miss",
    "up next",
    "what to read next",
    "other stories",
    "other articles",
    "similar ",
    "if you liked",
    "explore more",
    "elsewhere on",
    "mehr zum thema",
    "lesen sie auch",
    "lesen sie mehr",
    "das könnte sie",
    "meistgelesen",
    "weitere artikel",
    "auch interessant",
    "weitere themen",
    "zum thema",
    "lire aussi",
    "à lire",
    "a lire",
    "sur le même sujet",
    "les plus lus",
    "voir aussi",
    "dans la même rubrique",
    "noticias relacionadas",
    "lee también",
    "leer más",
    "te puede interesar",
    "lo más leído",
    "lo más visto",
    "más noticias",
    "más información",
    "relacionad",
    "leggi anche",
    "potrebbe interessarti",
    "potrebbero interessarti",
    "articoli correlati",
    "i più letti",
    "leia também",
    "leia mais",
    "veja também",
    "mais lidas",
    "saiba mais",
    "lees ook",
    "meer over",
    "meest gelezen",
    "czytaj także",
    "czytaj też",
    "czytaj również",
    "zobacz też",
    "zobacz także",
    "polecamy",
    "najczęściej czytane",
    "читайте также",
    "читать также",
    "по теме",
    "новости по теме",
    "материалы по теме",
    "похожие",
    "самое читаемое",
    "läs också",
    "läs mer",
    "läs även",
    "mest läst",
    "les også",
    "læs også",
    "lue myös",
    "čtěte také",
    "nejčtenější",
    "olvasta már",
    "ilgili haberler",
    "çok okunan",
    "関連記事",
    "関連ニュース",
    "あわせて読みたい",
    "アクセスランキング",
    "相关新闻",
    "相关阅读",
    "相关文章",
    "推荐阅读",
    "相關",
    "관련기사",
    "많이 본",
    "اقرأ أيضا",
    "اقرأ أيضًا",
];
const COMMENTS: &[&str] = &[
    "comments",
    "leave a comment",
    "leave a reply",
    "post a comment",
    "add a comment",
    "reader comments",
    "join the discussion",
    "join the conversation",
    "kommentare",
    "commentaires",
    "comentarios",
    "comentários",
    "commenti",
    "комментарии",
    "komentarze",
    "komentáře",
    "reacties",
    "kommentarer",
];
const FURNITURE: &[&str] = &[
    "share this",
    "share on",
    "share:",
    "share",
    "tweet",
    "teilen",
    "partager",
    "compartir",
    "compartilhe",
    "condividi",
    "поделиться",
    "udostępnij",
    "follow us",
    "advertisement",
    "- advertisement",
    "sponsored",
    "anzeige",
    "publicité",
    "publicidad",
    "реклама",
    "tags",
    "tagged",
    "filed under",
    "labels:",
    "posted in",
    "schlagworte",
    "mots-clés",
    "etiquetas",
    "теги",
    "print this",
    "email this",
    "e-mail this",
    "jump to",
    "skip to",
    "シェア",
    "分享",
];
const RIGHTS: &[&str] =
    &["©", "copyright", "(c) ", "all rights reserved", "alle rechte vorbehalten", "tous droits"];
const BYLINES: &[&str] = &[
    "by ",
    "von ",
    "par ",
    "por ",
    "di ",
    "door ",
    "автор",
    "written by",
    "published ",
    "posted ",
];

/// Returns the label of a run, given its beginning and its total length in bytes.
pub(super) fn label_of(start: &str, n_bytes: usize) -> Label {
    let start = start.trim_start_matches(|c: char| !c.is_alphanumeric() && !"©(-".contains(c));
    let mut lowered: String =
        start.chars().take(START_CHARS).flat_map(char::to_lowercase).collect();
    if lowered.contains('’') {
        lowered = lowered.replace('’', "'");
    }
    let begins = |phrases: &[&str]| phrases.iter().any(|phrase| is_phrase(&lowered, phrase));
    if begins(RIGHTS) {
        return Label::Rights;
    }
    // The word `cookie` is used in most languages.
    if lowered.contains("cookie") {
        return Label::Consent;
    }
    if n_bytes > MAX_LABEL_BYTES {
        // `Read also: a long headline` is a label together with the headline.
        let announced = RELATED.iter().find_map(|phrase| lowered.strip_prefix(phrase));
        let is_announced = announced.is_some_and(|rest| rest.trim_start().starts_with(':'));
        return if is_announced { Label::Related } else { Label::None };
    }
    // `12 comments`
    let counted = lowered.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    match () {
        () if begins(RELATED) => Label::Related,
        () if COMMENTS.iter().any(|phrase| is_phrase(counted, phrase)) => Label::Comments,
        () if counted.len() < lowered.len() && is_phrase(counted, "comment") => Label::Comments,
        () if begins(FURNITURE) => Label::Furniture,
        () if begins(BYLINES) => Label::Byline,
        () => Label::None,
    }
}

/// True when a text begins with a phrase and not with a longer word.
fn is_phrase(text: &str, phrase: &str) -> bool {
    let Some(rest) = text.strip_prefix(phrase) else { return false };
    // Phrases that end so may be stems of longer words, such as `relacionad`.
    let is_open = phrase.ends_with([' ', 'd', 'i']) || !phrase.ends_with(char::is_alphabetic);
    is_open || !rest.starts_with(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::{Label, label_of};

    #[test]
    fn first_words_are_read() {
        let rows = [
            ("Related articles", Label::Related),
            ("» LIRE AUSSI : Le port", Label::Related),
            ("12 Comments", Label::Comments),
            ("1 comment", Label::Comments),
            ("Commentary on the gate", Label::None),
            ("Share this:", Label::Furniture),
            ("Shared memory is fast", Label::None),
            ("© 2020 The authors", Label::Rights),
            ("This site uses cookies to ensure the best", Label::Consent),
            ("Von Ina Veld, Ostrel", Label::Byline),
            ("Installation", Label::None),
        ];
        for (text, label) in rows {
            assert_eq!(label_of(text, text.len()), label, "{text}");
        }
    }
}
