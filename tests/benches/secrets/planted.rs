//! Planted secrets and decoys, made from fixed seeds: the same in every run, and none of them real.

/// A line with a secret in it.
pub(crate) struct Planted {
    pub(crate) kind: &'static str,
    pub(crate) line: String,
    pub(crate) secret: String,
}

/// Numbers that look random (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn of(&mut self, letters: &str, n: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..n).map(|_| letters[(self.next() % letters.len() as u64) as usize]).collect()
    }
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGITS: &str = "0123456789";

/// Kinds of token as their issuers write them: `{a36}` are 36 letters and digits, h hexadecimal, u URL-safe, b base64,
/// U capitals, d digits, l small letters and digits. Prefixes are cut in two, so that no scanner takes this for a leak.
const SHAPES: [(&str, &str); 62] = [
    ("aws", "AK|IA{U16}"),
    ("aws-session", "AS|IA{U16}"),
    ("gcp", "AI|za{u35}"),
    ("gcp-oauth", "GOC|SPX-{u28}"),
    ("azure-secret", "{a3}8|Q~{u34}"),
    ("github", "gh|p_{a36}"),
    ("github-app", "gh|s_{a36}"),
    ("github-oauth", "gh|o_{a36}"),
    ("github-fine", "github|_pat_{a22}_{a59}"),
    ("gitlab", "gl|pat-{u20}"),
    ("gitlab-deploy", "gl|dt-{u20}"),
    ("slack-bot", "xo|xb-{d12}-{d12}-{a24}"),
    ("slack-user", "xo|xp-{d12}-{d12}-{d12}-{h32}"),
    ("slack-app", "xa|pp-1-{U11}-{d13}-{h64}"),
    ("slack-hook", "https://hooks.slack|.com/services/T{U8}/B{U10}/{a24}"),
    ("stripe", "sk|_live_{a24}"),
    ("stripe-restricted", "rk|_live_{a24}"),
    ("stripe-hook", "wh|sec_{a32}"),
    ("openai", "sk|-{a20}T3BlbkFJ{a20}"),
    ("openai-project", "sk|-proj-{u74}T3BlbkFJ{u74}"),
    ("anthropic", "sk|-ant-api03-{u93}AA"),
    ("huggingface", "h|f_{a34}"),
    ("groq", "gs|k_{a52}"),
    ("replicate", "r|8_{a37}"),
    ("npm", "np|m_{a36}"),
    ("pypi", "pypi|-AgEIcHlwaS5vcmc{u70}"),
    ("rubygems", "ruby|gems_{h48}"),
    ("docker", "dckr|_pat_{u27}"),
    ("twilio", "S|K{h32}"),
    ("sendgrid", "S|G.{u22}.{u43}"),
    ("mailgun", "ke|y-{h32}"),
    ("mailchimp", "{h32}|-us12"),
    ("telegram", "{d9}:|AA{u33}"),
    ("discord", "MT|{d2}{a21}.G{u5}.{u38}"),
    ("discord-hook", "https://discord.|com/api/webhooks/{d18}/{u68}"),
    ("jwt", "ey|JhbGciOiJIUzI1NiJ9.eyJzdWIiOi{a30}.{u43}"),
    ("shopify", "shp|at_{h32}"),
    ("shopify-shared", "shp|ss_{h32}"),
    ("digitalocean", "dop|_v1_{h64}"),
    ("age", "AGE-SECRET|-KEY-1{U58}"),
    ("vault", "hv|s.{u90}"),
    ("terraform", "{a14}.atlas|v1.{a67}"),
    ("databricks", "da|pi{h32}"),
    ("newrelic", "NR|AK-{U27}"),
    ("linear", "lin|_api_{a40}"),
    ("notion", "nt|n_{d11}{a35}"),
    ("figma", "fi|gd_{u40}"),
    ("airtable", "pa|t{a14}.{h64}"),
    ("postman", "PM|AK-{h24}-{h34}"),
    ("grafana", "gl|sa_{a32}_{h8}"),
    ("doppler", "dp.|pt.{a43}"),
    ("planetscale", "pscale|_tkn_{u43}"),
    ("pulumi", "pu|l-{h40}"),
    ("sentry", "sn|tryu_{h64}"),
    ("sonar", "sq|u_{h40}"),
    ("supabase", "sb|p_{h40}"),
    ("tailscale", "tskey|-auth-{a16}-{a32}"),
    ("square", "sq0|atp-{u22}"),
    ("brevo", "xkey|sib-{h64}-{a16}"),
    ("atlassian", "ATA|TT3{u180}={U8}"),
    ("fly", "fo|1_{u43}"),
    ("flutterwave", "FLW|SECK_TEST-{h32}-X"),
];

/// What is written around a token, whatever its kind.
const AROUND: [&str; 14] = [
    "the value is {} as of today.",
    "{}",
    "VALUE={}",
    "export THING='{}'",
    "value: {}",
    "  \"value\": \"{}\",",
    "thing = \"{}\"",
    "let thing = client(\"{}\", 3);",
    "tool --value {} --verbose",
    "https://x.example.net/cb?v={}&page=2",
    "see `{}`.",
    "<item value=\"{}\"/>",
    "| thing | {} |",
    "[link](https://x.example.net/{})",
];

/// What is written around a value whose name says what it is.
const NAMED: [(&str, &str); 22] = [
    ("password", "DB_PASSWORD={}"),
    ("password", "password: {}"),
    ("password", "  \"password\": \"{}\","),
    ("password", "password = '{}'"),
    ("password", "conn = connect(user=\"a\", password=\"{}\")"),
    ("password", "Server=db1;Database=x;User Id=sa;Password={};Encrypt=yes"),
    ("password", "tool --password {} run"),
    ("password", "tool --password='{}' run"),
    ("password", "<password>{}</password>"),
    ("password", "mysql -u root -p{} app"),
    ("password", "curl -u admin:{} https://h.example.net/"),
    ("password", "postgres://app:{}@db.example.net:5432/x"),
    ("password", "spring.datasource.password={}"),
    ("password", "sshpass -p '{}' ssh host"),
    ("key", "API_KEY={}"),
    ("key", "api_key: \"{}\""),
    ("key", "client_secret = \"{}\""),
    ("key", "{\"accessToken\": \"{}\"}"),
    ("key", "X-Api-Key: {}"),
    ("key", "Authorization: Bearer {}"),
    ("key", "https://h.example.net/?access_token={}&v=1"),
    ("key", "config['secret_key'] = '{}'"),
];

/// Every shape in every surrounding, and generic values under telling names.
pub(crate) fn secrets() -> Vec<Planted> {
    let mut dice = Dice(20_260_101);
    let mut out = Vec::new();
    for (kind, shape) in SHAPES {
        for around in AROUND {
            let secret = fill(&shape.replace('|', ""), &mut dice);
            out.push(Planted { kind, line: around.replacen("{}", &secret, 1), secret });
        }
    }
    for (sort, around) in NAMED {
        for round in 0..12 {
            let (kind, secret) = match (sort, round % 4) {
                ("password", 0) => ("password, letters and digits", password(&mut dice, ALNUM, 10)),
                ("password", 1) => {
                    ("password, with signs", password(&mut dice, "abcdefghijkXYZ23456789!*+.", 12))
                }
                ("password", 2) => ("password, word and number", fill("winter{d4}", &mut dice)),
                ("password", _) => ("password, long", password(&mut dice, ALNUM, 24)),
                (_, 0) => ("key, hexadecimal", fill("{h32}", &mut dice)),
                (_, 1) => ("key, base64", password(&mut dice, BASE64, 44)),
                (_, 2) => ("key, letters and digits", password(&mut dice, ALNUM, 32)),
                (_, _) => ("key, short", password(&mut dice, LOWER, 20)),
            };
            out.push(Planted { kind, line: around.replacen("{}", &secret, 1), secret });
        }
    }
    for label in ["RSA ", "EC ", "OPENSSH ", ""] {
        let body: Vec<String> = (0..12).map(|_| dice.of(BASE64, 64)).collect();
        let secret = body.join("\n");
        let line = format!(
            "-----BEGIN {label}PRIVATE KEY-----\n{secret}\n-----END {label}PRIVATE KEY-----\n"
        );
        out.push(Planted { kind: "private key", line, secret });
    }
    out
}

/// A value that has a digit, as generators see to.
fn password(dice: &mut Dice, letters: &str, n: usize) -> String {
    loop {
        let made = dice.of(letters, n);
        let ends_plainly = made.ends_with(|c: char| c.is_ascii_alphanumeric());
        let begins_plainly = made.starts_with(|c: char| c.is_ascii_alphanumeric());
        if made.contains(|c: char| c.is_ascii_digit())
            && made.contains(char::is_alphabetic)
            && ends_plainly
            && begins_plainly
        {
            return made;
        }
    }
}

fn fill(shape: &str, dice: &mut Dice) -> String {
    let mut out = String::new();
    let mut rest = shape;
    while let Some((before, after)) = rest.split_once('{') {
        out += before;
        let (spec, tail) = after.split_once('}').unwrap_or((after, ""));
        let (set, n) = spec.split_at(1);
        let letters = match set {
            "h" => HEX,
            "u" => URL,
            "b" => BASE64,
            "U" => UPPER,
            "d" => DIGITS,
            "l" => LOWER,
            _ => ALNUM,
        };
        let mut made = dice.of(letters, n.parse().unwrap_or(0));
        // A sign at the end would be read as punctuation around the token, and no issuer ends with one by rule.
        while made.ends_with(['-', '_']) {
            made.pop();
            made += &dice.of(ALNUM, 1);
        }
        out += &made;
        rest = tail;
    }
    out + rest
}

/// Lines that only look as if they held a secret.
pub(crate) fn decoys() -> Vec<String> {
    const LINES: [&str; 44] = [
        "commit {h40}",
        "Merge: {h7} {h7}",
        "sha256:{h64}",
        "{h64}  file-1.2.tar.gz",
        "{h32}  md5sum.txt",
        "checksum = \"{h64}\"",
        "\"integrity\": \"sha512-{b86}==\",",
        "integrity sha384-{b64}",
        "digest: sha256:{h64}",
        "image: app@sha256:{h64}",
        "id: {h8}-{h4}-{h4}-{h4}-{h12}",
        "uuid = \"{h8}-{h4}-{h4}-{h4}-{h12}\"",
        "request {h8}-{h4}-{h4}-{h4}-{h12} took 12 ms",
        "etag: \"{h32}\"",
        "source = \"git+https://example.net/x?rev={h40}#{h40}\"",
        "![x](data:image/png;base64,{b200}==)",
        "ssh-rsa AAAAB3NzaC1yc2E{b300} user@host",
        "-----BEGIN CERTIFICATE-----",
        "fingerprint SHA256:{b43}",
        "password: must be {d2} characters",
        "password = get_password(user{d2})",
        "password: ${DB_PASSWORD}",
        "API_KEY=your-api-key-here",
        "token: <TOKEN>",
        "secret: xxxxxxxxxxxxxxxx",
        "password=changeme",
        "Authorization: Bearer <token>",
        "password: required|string|min:{d1}",
        "max_tokens: {d4}",
        "token_count = {d6}",
        "password_file: /run/secrets/db{d2}",
        "secretName: my-app-tls-{d2}",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "the password is required in version {d1}.{d2}",
        "api_key = os.environ['API_KEY_{d1}']",
        "token = tokens[{d2}].text",
        "https://example.net/{h40}/raw/file.txt",
        "build {h12} of 2026-01-{d1}",
        "class {a12}TokenProviderFactory",
        "var passwordField{d1} = document.querySelector('#password');",
        "primary_key: user_id_{d3}",
        "public_key: {b43}=",
        "https://user:password@example.net/",
        "postgres://user:<password>@localhost:5432/db{d1}",
    ];
    let mut dice = Dice(7);
    LINES
        .iter()
        .flat_map(|line| (0..20).map(|_| fill(line, &mut dice)).collect::<Vec<_>>())
        .collect()
}
