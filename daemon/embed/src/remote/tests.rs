use super::*;
use serde_json::Value;
use web::mock::{Answer, Mock, Request};

/// Returns the texts of a request.
fn texts(request: &Request) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let input = body["input"].as_array().expect("texts");
    input.iter().map(|text| text.as_str().expect("a text").to_string()).collect()
}

/// Answers with a vector for each text, whose second component is the text's length.
fn vectors(request: &Request) -> Answer {
    let rows: Vec<Vec<usize>> = texts(request).iter().map(|text| vec![3, text.len(), 0]).collect();
    let items = rows.iter().enumerate().map(|(i, row)| json!({ "index": i, "embedding": row }));
    let body = match request.path.as_str() {
        "/api/embed" => json!({ "embeddings": rows }),
        _ => json!({ "data": items.collect::<Vec<_>>() }),
    };
    Answer::of(200, body.to_string())
}

fn settings(url: &str, change: impl FnOnce(&mut Embed)) -> Embed {
    let mut settings = Embed { model: "remote".to_string(), ..Embed::default() };
    settings.remote.url = url.to_string();
    settings.remote.model = "m".to_string();
    settings.remote.dimensions = 3;
    settings.remote.batch = 2;
    change(&mut settings);
    settings
}

/// Starts a mock server, and opens the model on it.
fn remote(
    answer: impl FnMut(&Request) -> Answer + Send + 'static,
    change: impl FnOnce(&mut Embed),
) -> (Mock, RemoteModel) {
    let mock = Mock::start(answer).expect("a server");
    let model = RemoteModel::new(&settings(&mock.url(), change)).expect("settings");
    (mock, model)
}

fn later(found: Result<Vec<UnitVector>, EmbedError>, part: &str) -> Option<Duration> {
    match found {
        Err(EmbedError::Later { why, after }) => {
            assert!(why.contains(part), "{why}");
            after
        }
        other => panic!("not later: {other:?}"),
    }
}

fn broken(found: Result<Vec<UnitVector>, EmbedError>, part: &str) {
    match found {
        Err(EmbedError::Model { why }) => assert!(why.contains(part), "{why}"),
        other => panic!("not broken: {other:?}"),
    }
}

#[test]
fn texts_are_sent_in_batches_and_questions_with_their_prompt() {
    let (mock, model) = remote(vectors, |it| {
        it.query_prompt = "Q: ".to_string();
        it.document_prompt = "D: ".to_string();
    });
    let made = model.try_embed(&["a", "bb", " ", "ccc"]).expect("vectors");
    assert_eq!(made.len(), 4);
    assert_eq!(made[0], unit_vector(&[3.0, 4.0, 0.0]));
    assert_eq!(made[2].0.as_ref(), [0, 0, 0], "an empty text is not sent");
    assert_eq!(made[3], unit_vector(&[3.0, 6.0, 0.0]));
    assert_eq!(model.try_question("why").expect("a vector"), unit_vector(&[3.0, 6.0, 0.0]));
    let requests = mock.requests();
    let sent: Vec<Vec<String>> = requests.iter().map(texts).collect();
    assert_eq!(sent, [vec!["D: a", "D: bb"], vec!["D: ccc"], vec!["Q: why"]]);
    assert!(
        requests
            .iter()
            .all(|it| it.path == "/v1/embeddings" && it.header("authorization").is_none())
    );
}

#[test]
fn secrets_stay_here() {
    let (mock, model) = remote(vectors, |_| {});
    let secret = "the token is ghp_0123456789abcdefghijABCDEFGHIJ012345";
    model.try_embed(&[secret]).expect("a vector");
    model.try_question(secret).expect("a vector");
    for request in mock.requests() {
        let sent = texts(&request).concat();
        assert!(sent.starts_with("the token is [redacted") && !sent.contains("ghp_"), "{sent}");
    }
}

#[test]
fn ollama_is_asked_in_its_own_way() {
    let (mock, model) = remote(vectors, |it| it.remote.api = RemoteApi::Ollama);
    assert_eq!(model.try_embed(&["a"]).expect("a vector")[0], unit_vector(&[3.0, 1.0, 0.0]));
    assert_eq!(mock.requests()[0].path, "/api/embed");
}

#[test]
fn vectors_may_be_cut() {
    let (_mock, model) = remote(vectors, |it| it.dimensions = 2);
    assert_eq!(model.dimensions(), 2);
    assert_eq!(model.try_embed(&["aaaa"]).expect("a vector")[0], unit_vector(&[3.0, 4.0]));
    let more = settings("http://localhost", |it| it.dimensions = 4);
    assert!(RemoteModel::new(&more).is_err());
}

#[test]
fn what_may_pass_is_tried_again_later() {
    for status in [429, 500, 502, 503, 408] {
        let mut n_asked = 0;
        let answer = move |request: &Request| {
            n_asked += 1;
            match n_asked {
                1 => Answer::of(status, "busy").with("retry-after", 0),
                _ => vectors(request),
            }
        };
        let (mock, model) = remote(answer, |_| {});
        let after = later(model.try_embed(&["a"]), &format!("answered {status}: busy"));
        assert_eq!(after, Some(Duration::from_secs(1)), "also where none is asked for");
        model.ask_again();
        assert!(model.try_embed(&["a"]).is_ok());
        assert_eq!(mock.requests().len(), 2);
    }
}

#[test]
fn a_server_that_asks_for_a_pause_gets_it() {
    let (mock, model) = remote(|_| Answer::of(429, "").with("retry-after", 600), |_| {});
    assert_eq!(later(model.try_embed(&["a"]), "answered 429"), Some(Duration::from_secs(600)));
    let left = later(model.try_embed(&["a"]), "answered 429").expect("how long");
    assert!(left > Duration::from_secs(500));
    assert!(matches!(model.try_question("a"), Err(EmbedError::Later { .. })));
    assert_eq!(mock.requests().len(), 1, "nobody asks meanwhile");
    model.ask_again();
    later(model.try_embed(&["a"]), "answered 429");
    assert_eq!(mock.requests().len(), 2, "somebody wanted it");
}

#[test]
fn silence_and_cut_connections_end() {
    let hangs = Answer { hangs: true, ..Answer::default() };
    let cut = Answer { cut_after: Some(3), ..Answer::of(200, "{\"data\": []}") };
    for (answer, part) in [(hangs, "timed out"), (cut, "broke off"), (Answer::default(), "")] {
        let (_mock, mut model) = remote(move |_| answer.clone(), |_| {});
        let short = Duration::from_millis(200);
        model.patience = [Patience { connect: short, read: short, whole: Some(short) }; 2];
        later(model.try_embed(&["a"]), part);
    }
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let nobody = RemoteModel::new(&settings(&format!("http://{port}"), |_| {})).expect("settings");
    assert_eq!(later(nobody.try_embed(&["a"]), "cannot be reached"), Some(Duration::from_secs(1)));
}

#[test]
fn garbage_is_no_vector() {
    for garbage in ["<html>Welcome to this hotel</html>", "{}", "{\"data\": []}", ""] {
        let (_mock, model) = remote(move |_| Answer::of(200, garbage), |_| {});
        later(model.try_embed(&["a"]), "did not answer with vectors");
    }
}

#[test]
fn a_vector_of_another_length_ends_it() {
    let (_mock, model) = remote(vectors, |it| it.remote.dimensions = 384);
    broken(model.try_embed(&["a"]), "gives 3 numbers, and `embed.remote.dimensions` is 384");
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Mock::start(vectors).expect("a server");
    let to = format!("{}/v1/embeddings", other.url());
    let (_mock, model) = remote(move |_| Answer::of(307, "").with("location", &to), |_| {});
    broken(model.try_embed(&["a"]), "answered 307");
    assert!(other.requests().is_empty());
}

#[test]
fn a_text_is_refused_only_where_others_are_not() {
    let too_long = |request: &Request| match texts(request).iter().any(|text| text.len() > 9) {
        true => Answer::of(400, r#"{"error": {"message": "too long"}}"#),
        false => vectors(request),
    };
    let (mock, model) = remote(too_long, |_| {});
    let refused = model.try_embed(&["a text that is too long"]);
    assert!(
        matches!(&refused, Err(EmbedError::Text { why }) if why.contains("400: too long")),
        "{refused:?}"
    );
    assert_eq!(mock.requests().len(), 2, "it tried another one");
    assert!(model.try_embed(&["short"]).is_ok());
    let (_mock, model) = remote(|_| Answer::of(400, "no such model"), |_| {});
    broken(model.try_embed(&["short"]), "400: no such model");
}

#[test]
fn a_server_that_takes_fewer_texts_at_once_is_asked_for_so_many() {
    let few = |request: &Request| match texts(request).len() > 2 {
        true => Answer::of(413, "batch size > maximum allowed batch size 2"),
        false => vectors(request),
    };
    let (mock, model) = remote(few, |it| it.remote.batch = 8);
    let given = ["a", "bb", "ccc", "d", "e", "f", "g", "h"];
    let made = model.try_embed(&given).expect("vectors");
    assert_eq!(made[2], unit_vector(&[3.0, 3.0, 0.0]), "in the order of the texts");
    let sizes = |from: usize| -> Vec<usize> {
        mock.requests().iter().skip(from).map(|it| texts(it).len()).collect()
    };
    assert_eq!(sizes(0), [8, 4, 2, 2, 4, 2, 2]);
    model.try_embed(&given).expect("vectors");
    assert_eq!(sizes(7), [2, 2, 2, 2], "it is remembered");

    // A text refused on its own does not reduce the batch size.
    let one = |request: &Request| match texts(request).iter().any(|text| text == "bad") {
        true => Answer::of(422, "cannot be embedded"),
        false => vectors(request),
    };
    let (mock, model) = remote(one, |it| it.remote.batch = 4);
    let refused = model.try_embed(&["a", "b", "c", "bad"]);
    assert!(matches!(refused, Err(EmbedError::Text { .. })), "{refused:?}");
    let n_before = mock.requests().len();
    model.try_embed(&["a", "b", "c", "d"]).expect("vectors");
    assert_eq!(mock.requests().len(), n_before + 1);
}

#[test]
fn the_key_is_sent_and_never_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("key");
    std::fs::write(&file, "sk-secret-1234\n").expect("written");
    let path = file.display().to_string();
    let answer =
        |_: &Request| Answer::of(401, r#"{"error": {"message": "wrong key sk-secret-1234"}}"#);
    let (mock, model) = remote(answer, |it| it.remote.key_file = path);
    let error = model.try_embed(&["a"]).expect_err("refused").to_string();
    assert!(error.contains("wrong key [key]") && !error.contains("secret"), "{error}");
    assert_eq!(mock.requests()[0].header("authorization"), Some("Bearer sk-secret-1234"));
    assert!(!model.space().contains("secret"));
    let refused = |change: &dyn Fn(&mut Embed)| {
        RemoteModel::new(&settings("http://localhost", change))
            .map(|_| ())
            .expect_err("no key")
            .to_string()
    };
    assert!(
        refused(&|it| it.remote.key_file = "/nowhere/key".into())
            .contains("`/nowhere/key` cannot be read")
    );
    assert!(
        refused(&|it| it.remote.key_variable = "KGD_NO_SUCH_KEY".into())
            .contains("`KGD_NO_SUCH_KEY`")
    );
    std::fs::write(&file, "two\nsecrets").expect("written");
    let error = refused(&|it| it.remote.key_file = file.display().to_string());
    assert!(error.contains("invalid characters") && !error.contains("secrets"), "{error}");
}

#[test]
fn addresses_by_eye() {
    let at = |api, url: &str| {
        let remote = Remote { api, url: url.to_string(), ..Remote::default() };
        address(&remote)
    };
    assert_eq!(
        at(RemoteApi::Openai, "https://api.openai.com"),
        "https://api.openai.com/v1/embeddings"
    );
    assert_eq!(at(RemoteApi::Openai, "http://h:1/v1/"), "http://h:1/v1/embeddings");
    assert_eq!(at(RemoteApi::Ollama, "http://h:1/"), "http://h:1/api/embed");
}
