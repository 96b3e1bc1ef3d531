//! What keys do to a list, and what it looks like.

use std::collections::BTreeMap;

use expect_test::expect;

use super::*;

fn item(key: &str, claim: &str) -> ReviewItem {
    ReviewItem {
        key: key.into(),
        kind: "same_as".into(),
        claim: claim.into(),
        confidence: 0.68,
        evidence: None,
        features: BTreeMap::from([("cosine".to_string(), 0.8), ("string".to_string(), 0.9)]),
    }
}

fn list() -> List {
    List::new(vec![
        item("link:a>b", "`A` may be `B`"),
        item("link:c>d", "`C` may be `D\u{1b}[2J`"),
        item("link:e>f", "`E` may be `F`"),
    ])
}

fn decide(list: &mut List, key: Key) -> ReviewLinks {
    let Step::Ask(decision) = list.press(key) else { panic!("nothing is asked") };
    list.confirm(&decision);
    decision.request()
}

#[test]
fn keys_are_read_from_what_a_terminal_sends() {
    use Key::*;
    assert_eq!(Key::read(b"jk\x1b[A\x1bOB"), [Down, Up, Up, Down]);
    assert_eq!(Key::read(b"aru\r"), [Accept, Reject, Undo, Evidence]);
    assert_eq!(Key::read(b"x\x1b[Zq"), [Quit]);
    assert_eq!(Key::read(b"\x03"), [Quit]);
}

#[test]
fn a_decision_moves_on_and_can_be_taken_back() {
    let mut list = list();
    assert_eq!(decide(&mut list, Key::Accept).accept, Some(vec!["link:a>b".to_string()]));
    assert_eq!(decide(&mut list, Key::Reject).reject, Some(vec!["link:c>d".to_string()]));
    assert_eq!(list.n_decided(), 2);
    assert_eq!(decide(&mut list, Key::Undo).undo, Some(vec!["link:c>d".to_string()]), "the last");
    list.press(Key::Up);
    assert_eq!(decide(&mut list, Key::Undo).undo, Some(vec!["link:a>b".to_string()]));
    assert_eq!(list.press(Key::Undo), Step::Show, "nothing is left to take back");
    assert_eq!(list.n_decided(), 0);
}

#[test]
fn the_screen_shows_where_one_is_and_no_control_characters() {
    let mut list = list();
    decide(&mut list, Key::Accept);
    list.press(Key::Evidence);
    expect![[r#"
        2 of 3, 1 decided   j/k move  a accept  r reject  u undo  enter evidence  q quit

          + 0.68  same_as  `A` may be `B`
        >   0.68  same_as  `C` may be `D\u{1b}[2J`
              cosine 0.80  string 0.90
              link:c>d
            0.68  same_as  `E` may be `F`"#]]
    .assert_eq(&list.screen((100, 20), Style::terminal(false)).replace("\r\n", "\n"));
}

#[test]
fn a_small_terminal_shows_a_part() {
    let mut many = List::new((0..50).map(|i| item(&format!("link:a{i}>b"), "claim")).collect());
    for _ in 0..30 {
        many.press(Key::Down);
    }
    many.press(Key::Evidence);
    for size in [(30, 6), (10, 1), (80, 24), (0, 0)] {
        let screen = many.screen(size, Style::terminal(false));
        assert!(screen.lines().count() <= size.1.max(1), "{size:?}\n{screen}");
        assert!(
            screen.lines().all(|line| line.chars().count() <= size.0.max(1)),
            "{size:?}\n{screen}"
        );
    }
    assert!(many.screen((80, 24), Style::terminal(false)).contains("> "), "the cursor is in sight");
}
