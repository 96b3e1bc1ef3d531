//! Address: what of a hub's address may be seen by others.
//!
//! In: `postgres://ROLE:PASSWORD@HOST/DATABASE?…`. Out: the same without the password, and the password.
//! Invariant: as the driver reads it, so that nothing that it would send as a password stays in the address.

/// Splits the password off an address; both forms, `ROLE:PASSWORD@` and `?password=`.
pub fn split_password(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_string(), None) };
    let (role, rest) = rest.split_once('@').map_or((None, rest), |(role, rest)| (Some(role), rest));
    let (role, mut password) = match role.and_then(|it| it.split_once(':')) {
        Some((role, password)) => (Some(role), Some(password)),
        None => (role, None),
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut kept = Vec::new();
    for parameter in query.split('&').filter(|it| !it.is_empty()) {
        match parameter.split_once('=') {
            Some((name, value)) if decoded(name) == "password" => password = Some(value),
            _ => kept.push(parameter),
        }
    }
    let role = role.map(|it| format!("{it}@")).unwrap_or_default();
    let joint = if kept.is_empty() { "" } else { "?" };
    let shown = format!("{scheme}://{role}{place}{joint}{}", kept.join("&"));
    (shown, password.map(decoded))
}

/// Replaces `%XX`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let hex = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = hex.and_then(|it| u8::from_str_radix(it, 16).ok()).filter(|_| *byte == b'%');
        bytes.push(code.unwrap_or(*byte));
        rest = code.and(after.get(2..)).unwrap_or(after);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_out_of_an_address_wherever_it_stands() {
        for (url, shown, password) in [
            ("postgres://r@h/kg", "postgres://r@h/kg", None),
            ("postgres://r:p%40ss%2F1@h:1,i/kg?a=b", "postgres://r@h:1,i/kg?a=b", Some("p@ss/1")),
            ("postgres://r@h/kg?password=a%20b&c=d", "postgres://r@h/kg?c=d", Some("a b")),
            ("postgres://r:x@h/kg?pass%77ord=y", "postgres://r@h/kg", Some("y")),
            ("postgres://h/kg", "postgres://h/kg", None),
            ("postgres://r:100%@h/kg", "postgres://r@h/kg", Some("100%")),
            ("/folder", "/folder", None),
        ] {
            assert_eq!(split_password(url), (shown.to_string(), password.map(String::from)));
        }
    }
}
