//! Evasions: one token written so that a reader sees it and a plain search does not.

/// Returns files by name, with their content.
pub fn evasions(token: &str) -> Vec<(&'static str, String)> {
    let (head, tail) = token.split_at(20);
    let entities: String = token.bytes().map(|byte| format!("&#{byte};")).collect();
    let wide = |c: char| char::from_u32(c as u32 + 0xfee0).unwrap_or(c);
    let wide: String = token.chars().map(wide).collect();
    let escaped = token.replace('_', "\\_");
    vec![
        ("split-bold.html", format!("<p>It is {head}<b>{tail}</b></p>")),
        ("split-span.html", format!("<p>It is {}<span>{}</span></p>", &token[..3], &token[3..])),
        ("entity.html", format!("<p>It is {entities}</p>")),
        ("wbr.html", format!("<p>It is {head}<wbr>{tail}</p>")),
        ("shy.html", format!("<p>It is {head}&shy;{tail}</p>")),
        ("zero-width.md", format!("It is {head}\u{200b}{tail}")),
        ("joiner.txt", format!("It is {head}\u{2060}{tail}")),
        ("bold.md", format!("It is {head}**{tail}**")),
        ("escaped.md", format!("It is {escaped}")),
        ("soft.md", format!("It is {head}\\\n{tail}")),
        ("line-end.md", format!("It is {head}\n{tail}")),
        (
            "front.md",
            format!(
                "---\ntoken: {token}\ntitle: {token}\naliases: [{token}]\ntags: [{token}]\n---\nText"
            ),
        ),
        ("link.md", format!("See [x](https://api.example/{token}) ![{token}](a.png) [[{token}]]")),
        ("code.md", format!("See `{token}`\n```{token}\nx\n```")),
        ("comment.md", format!("See <!-- {token} --> %% {token} %%")),
        ("full-width.md", format!("It is {wide}")),
        ("observation.md", format!("- [secret] {token} #t\n- uses [[{token}]]")),
        ("allowed.md", format!("It is {token} kg:allow")),
        (
            "attribute.html",
            format!(
                "<p title=\"{token}\">x <img alt=\"{token}\"><a href=\"https://x/?t={token}\">l</a></p>"
            ),
        ),
        (
            "meta.html",
            format!(
                "<html><head><title>{token}</title><meta name=author content=\"{token}\"></head><p>x</p></html>"
            ),
        ),
        ("cells.html", format!("<table><tr><td>token</td><td>{token}</td></tr></table>")),
    ]
}
