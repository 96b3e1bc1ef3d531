//! Slots against a server on this machine that answers well, badly, slowly, or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::settings::{LlmApi, LlmSlot, PiiKinds, PiiMode, Privacy};
use serde_json::{Value, json};
use web::mock::{Answer, Mock, Request};

use super::*;

const APIS: [LlmApi; 4] = [LlmApi::Openai, LlmApi::Anthropic, LlmApi::Bedrock, LlmApi::Ollama];

/// What a server of each kind says.
fn reply_with(request: &Request, text: &str) -> Answer {
    let body = match request.path.as_str() {
        "/v1/chat/completions" => {
            json!({"choices": [{"message": {"role": "assistant", "content": text}}]})
        }
        "/v1/messages" => {
            json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})
        }
        "/api/generate" => json!({"response": text, "done": true}),
        path if path.starts_with("/model/") => {
            json!({"output": {"message": {"role": "assistant", "content": [{"text": text}]}}})
        }
        other => panic!("nobody asks for {other}"),
    };
    Answer::of(200, body.to_string())
}

fn settings(api: LlmApi, url: &str) -> LlmSlot {
    let (url, model) = (url.to_string(), "m".to_string());
    LlmSlot { api, url, model, timeout_ms: 5_000, ..LlmSlot::default() }
}

fn slot_of(settings: &LlmSlot) -> Slot {
    Slot::new("query", settings, &Privacy::default())
}

fn slot(
    answer: impl FnMut(&Request) -> Answer + Send + 'static,
    change: impl FnOnce(&mut LlmSlot),
) -> (Mock, Slot) {
    let mock = Mock::start(answer).expect("a server");
    let mut settings = settings(LlmApi::Openai, &mock.url());
    change(&mut settings);
    (mock, slot_of(&settings))
}

fn asker() -> Asker {
    Asker { client: None, until: Instant::now() + Duration::from_secs(60) }
}

fn ask(slot: &Slot) -> Result<Completion, LlmError> {
    let prompt = Prompt { system: "Be brief.".into(), text: "Hello?".into() };
    slot.generate(&prompt, &asker())
}

fn why(asked: Result<Completion, LlmError>) -> String {
    asked.expect_err("no text").to_string()
}

fn state(slot: &Slot) -> String {
    slot.view(Instant::now()).state
}

#[test]
fn every_interface_answers() {
    for api in APIS {
        let mock = Mock::start(|request| reply_with(request, " Hi. ")).expect("a server");
        let slot = slot_of(&settings(api, &mock.url()));
        assert_eq!(state(&slot), "untried");
        let completion = ask(&slot).expect("a text");
        assert_eq!((completion.text.as_str(), completion.model.as_str()), ("Hi.", "m"), "{api:?}");
        assert_eq!(state(&slot), "ready");
        let view = slot.view(Instant::now());
        assert_eq!((view.calls, view.failures, view.trouble), (1, 0, None));
    }
}

#[test]
fn what_every_interface_answers_badly_is_no_text() {
    for api in APIS {
        for garbage in ["<html>Welcome to this hotel</html>", "{}", "", "{\"response\": 7}"] {
            let mock = Mock::start(move |_| Answer::of(200, garbage)).expect("a server");
            let settings = LlmSlot { max_retries: 0, ..settings(api, &mock.url()) };
            let why = why(ask(&slot_of(&settings)));
            assert!(why.contains("did not answer with text"), "{api:?} {garbage}: {why}");
        }
    }
}

#[test]
fn what_may_pass_is_tried_again() {
    for status in [429, 500, 503, 529, 408] {
        let mut n_asked = 0;
        let answer = move |request: &Request| {
            n_asked += 1;
            match n_asked {
                1 => Answer::of(status, "busy").with("retry-after", 0),
                _ => reply_with(request, "Hi."),
            }
        };
        let (mock, slot) = slot(answer, |_| {});
        assert!(ask(&slot).is_ok(), "{status}");
        assert_eq!(mock.requests().len(), 2);
    }
}

#[test]
fn tries_are_bounded_and_count() {
    let (mock, slot) =
        slot(|_| Answer::of(503, "busy").with("retry-after", 0), |it| it.max_retries = 3);
    assert!(why(ask(&slot)).contains("answered 503: busy"));
    assert_eq!(mock.requests().len(), 4);
    assert_eq!(slot.view(Instant::now()).calls_last_hour, 4);
    assert_eq!(state(&slot), "failing");
}

#[test]
fn a_budget_that_is_used_up_is_told() {
    let (mock, slot) = slot(|request| reply_with(request, "Hi."), |it| it.max_calls_per_hour = 2);
    assert!(ask(&slot).is_ok() && ask(&slot).is_ok());
    let error = ask(&slot).expect_err("nothing is left");
    assert!(matches!(error, LlmError::Spent { per_hour: 2, .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("the limit of 2 calls an hour is reached; the next call is possible in 3"),
        "{error}"
    );
    assert_eq!(mock.requests().len(), 2);
    assert_eq!(state(&slot), "spent");
    let again = slot.view(Instant::now()).again_seconds.expect("when");
    assert!((3_500..=3_600).contains(&again));
    // An hour later it is there again.
    assert_eq!(slot.view(Instant::now() + Duration::from_secs(3_601)).state, "ready");
}

#[test]
fn after_three_failures_it_is_left_alone_and_then_asked_again() {
    let (mock, slot) = slot(|_| Answer::of(500, "broken"), |it| it.max_retries = 0);
    for _ in 0..3 {
        assert!(why(ask(&slot)).contains("answered 500"));
    }
    let error = ask(&slot).expect_err("it is left alone");
    assert!(matches!(error, LlmError::Paused { .. }), "{error}");
    assert!(
        error.to_string().contains("after a failure: ") && error.to_string().contains("broken"),
        "{error}"
    );
    assert_eq!(mock.requests().len(), 3);
    assert_eq!(state(&slot), "waiting");
    assert_eq!(slot.view(Instant::now() + Duration::from_secs(60)).state, "failing");
}

#[test]
fn a_wrong_key_is_not_tried_over_and_over() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("key");
    std::fs::write(&file, "sk-secret-1234\n").expect("written");
    for api in APIS {
        let mut settings = settings(api, "");
        settings.key_file = file.display().to_string();
        let answer =
            |_: &Request| Answer::of(401, r#"{"error": {"message": "wrong key sk-secret-1234"}}"#);
        let mock = Mock::start(answer).expect("a server");
        settings.url = mock.url();
        let slot = slot_of(&settings);
        let error = why(ask(&slot));
        assert!(
            error.contains("wrong key [key]") && error.contains("check the key of `llm.query`"),
            "{error}"
        );
        assert!(!error.contains("sk-secret"), "{error}");
        assert!(matches!(ask(&slot), Err(LlmError::Paused { .. })));
        let requests = mock.requests();
        assert_eq!(requests.len(), 1);
        let sent = match api {
            LlmApi::Anthropic => requests[0].header("x-api-key"),
            _ => requests[0].header("authorization").and_then(|it| it.strip_prefix("Bearer ")),
        };
        assert_eq!(sent, Some("sk-secret-1234"), "{api:?}");
        assert!(!format!("{:?}", slot.view(Instant::now())).contains("secret"));
    }
}

#[test]
fn silence_and_cut_connections_end_in_time() {
    let hangs = Answer { hangs: true, ..Answer::default() };
    let cut = Answer { cut_after: Some(3), ..Answer::of(200, "{\"choices\": []}") };
    for (answer, part) in [(hangs, "timed out"), (cut, "broke off"), (Answer::default(), "")] {
        let (_mock, slot) = slot(move |_| answer.clone(), |it| it.timeout_ms = 300);
        let start = Instant::now();
        let error = why(ask(&slot));
        assert!(error.contains(part), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let nobody = LlmSlot { max_retries: 0, ..settings(LlmApi::Ollama, &format!("http://{port}")) };
    assert!(why(ask(&slot_of(&nobody))).contains("cannot be reached"));
}

#[test]
fn who_asks_may_have_less_time_than_the_settings_give() {
    let (_mock, slot) =
        slot(|_| Answer { hangs: true, ..Answer::default() }, |it| it.timeout_ms = 60_000);
    let prompt = Prompt { system: String::new(), text: "?".into() };
    let asker = Asker { client: None, until: Instant::now() + Duration::from_millis(300) };
    let start = Instant::now();
    assert!(why(slot.generate(&prompt, &asker)).contains("timed out"));
    assert!(start.elapsed() < Duration::from_secs(10));
    let late = Asker { client: None, until: Instant::now() };
    assert!(why(slot.generate(&prompt, &late)).contains("no time left"));
}

#[test]
fn a_server_that_asks_for_a_pause_gets_it() {
    let (mock, slot) = slot(|_| Answer::of(429, "slow down").with("retry-after", 600), |_| {});
    assert!(why(ask(&slot)).contains("answered 429"));
    let error = ask(&slot).expect_err("it is left alone");
    assert!(
        matches!(error, LlmError::Paused { again, .. } if again > Duration::from_secs(500)),
        "{error}"
    );
    assert_eq!(mock.requests().len(), 1, "waiting so long would be no use");
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Mock::start(|request| reply_with(request, "Hi.")).expect("a server");
    let to = format!("{}/v1/chat/completions", other.url());
    let (_mock, slot) = slot(move |_| Answer::of(307, "").with("location", &to), |_| {});
    assert!(why(ask(&slot)).contains("answered 307"));
    assert!(other.requests().is_empty());
}

#[test]
fn secrets_and_removed_personal_data_stay_here() {
    let (mock, _) = slot(|request| reply_with(request, "Hi."), |_| {});
    let pii_kinds = PiiKinds::default();
    let privacy = Privacy { pii: PiiMode::Redact, pii_kinds, ..Privacy::default() };
    for (privacy, shows_mail) in [(Privacy::default(), true), (privacy, false)] {
        let slot = Slot::new("query", &settings(LlmApi::Openai, &mock.url()), &privacy);
        let secret =
            "the token is ghp_0123456789abcdefghijABCDEFGHIJ012345, write to ada@lovelace.org";
        // Also where a line is marked to be left alone: that is for what stays here.
        let allowed = "aws_secret = AKIAIOSFODNN7ABCDEFG # kg:allow";
        let prompt = Prompt { system: secret.into(), text: format!("{secret}\n{allowed}") };
        slot.generate(&prompt, &asker()).expect("a text");
        let sent = String::from_utf8(mock.requests().pop().expect("one").body).expect("text");
        assert!(sent.contains("the token is [redacted") && !sent.contains("ghp_"), "{sent}");
        assert!(!sent.contains("AKIAIOSFODNN7ABCDEFG"), "{sent}");
        assert_eq!(sent.contains("ada@lovelace.org"), shows_mail, "{sent}");
    }
}

#[test]
fn what_is_too_long_is_cut() {
    let (mock, slot) = slot(|request| reply_with(request, "Hi."), |it| it.max_input_chars = 1_000);
    let prompt = Prompt { system: "S".into(), text: "é".repeat(5_000) };
    slot.generate(&prompt, &asker()).expect("a text");
    let body: Value = serde_json::from_slice(&mock.requests()[0].body).expect("JSON");
    let sent = body["messages"][1]["content"].as_str().expect("text");
    assert_eq!(sent, format!("{}\n[cut]", "é".repeat(1_000)));
}

#[test]
fn a_server_that_wants_the_new_limit_gets_it() {
    let answer = |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        match body.get("max_completion_tokens").is_some() {
            true => reply_with(request, "Hi."),
            false => {
                Answer::of(400, r#"{"error": {"message": "use 'max_completion_tokens' instead"}}"#)
            }
        }
    };
    let (mock, slot) = slot(answer, |_| {});
    assert!(ask(&slot).is_ok() && ask(&slot).is_ok());
    assert_eq!(mock.requests().len(), 3, "it is remembered");
}

#[test]
fn settings_that_are_not_whole_are_told() {
    let rows = [
        (
            LlmSlot { model: "m".into(), ..settings(LlmApi::Openai, "") },
            "`llm.query.url` is not set",
        ),
        (settings(LlmApi::Bedrock, ""), "`llm.query.url` is not set"),
        (
            LlmSlot { model: String::new(), ..settings(LlmApi::Anthropic, "") },
            "`llm.query.model` is not set",
        ),
    ];
    for (settings, expected) in rows {
        let slot = slot_of(&settings);
        assert_eq!(why(ask(&slot)), expected);
        let view = slot.view(Instant::now());
        assert_eq!((view.state.as_str(), view.trouble.as_deref()), ("failed", Some(expected)));
    }
    let mut settings = settings(LlmApi::Ollama, "");
    settings.key_file = "/nowhere/key".into();
    assert!(why(ask(&slot_of(&settings))).contains("`/nowhere/key` cannot be read"));
}

/// A client that says something, or not.
struct Client(Result<&'static str, Trouble>);

impl Provider for Client {
    fn generate(&self, prompt: &Prompt, limits: Limits<'_>) -> Result<Completion, Trouble> {
        assert!(!prompt.text.contains("ghp_") && limits.max_tokens > 0);
        let text = self.0.clone()?.to_string();
        Ok(Completion { text, model: "theirs".into() })
    }
}

#[test]
fn the_model_of_a_client_is_asked_where_it_offers_one() {
    let slot = slot_of(&settings(LlmApi::Sampling, ""));
    assert_eq!(ask(&slot), Err(LlmError::NoClient));
    let of = |it| Asker { client: Some(Arc::new(Client(it))), ..asker() };
    let prompt =
        Prompt { system: String::new(), text: "ghp_0123456789abcdefghijABCDEFGHIJ012345".into() };
    let declines = Trouble::Request { why: "the person declined".into() };
    for _ in 0..5 {
        let asked = slot.generate(&prompt, &of(Err(declines.clone())));
        assert_eq!(
            why(asked),
            "the person declined",
            "each client is another: none is left alone for it"
        );
    }
    let completion = slot.generate(&prompt, &of(Ok("Hi."))).expect("a text");
    assert_eq!((completion.text.as_str(), completion.model.as_str()), ("Hi.", "theirs"));
    let secret = "It is ghp_0123456789abcdefghijABCDEFGHIJ012345.";
    let completion = slot.generate(&prompt, &of(Ok(secret))).expect("a text");
    assert_eq!(completion.text, "It is [redacted:github-token].", "no secret leaves");
    assert_eq!(slot.generate(&prompt, &of(Err(Trouble::Asked))), Err(LlmError::Asked));
}

#[test]
fn a_slot_that_is_off_is_not_there() {
    let mut settings = config::Settings::default();
    let llms = Llms::new(&settings);
    assert!(
        llms.query().is_none()
            && llms.extraction().is_none()
            && llms.views(Instant::now()).is_empty()
    );
    settings.llm.extraction = super::tests::settings(LlmApi::Ollama, "http://localhost:1");
    let llms = Llms::new(&settings);
    assert!(llms.query().is_none() && llms.extraction().is_some());
    assert_eq!(llms.views(Instant::now())[0].slot, "extraction");
}
