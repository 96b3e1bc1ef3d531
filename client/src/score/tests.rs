use expect_test::expect;

use super::*;

/// Parses `path start end kind entity`, one per line; `-` for no entity.
fn marks(text: &str) -> Vec<MentionMark> {
    let rows = text
        .lines()
        .map(str::split_whitespace)
        .filter_map(|row| <[&str; 5]>::try_from(row.collect::<Vec<_>>()).ok());
    let mark = |[path, start, end, kind, entity]: [&str; 5]| MentionMark {
        path: path.to_string(),
        start: start.parse().expect("a number"),
        end: end.parse().expect("a number"),
        kind: kind.to_string(),
        entity: (entity != "-").then(|| entity.to_string()),
    };
    rows.map(mark).collect()
}

fn shown(counts: Counts) -> String {
    let Counts { right, wrong, missed } = counts;
    format!(
        "{right} right, {wrong} wrong, {missed} missed: P {:.3} R {:.3} F {:.3}",
        counts.precision(),
        counts.recall(),
        counts.f1()
    )
}

#[test]
fn mentions_by_span_and_by_overlap() {
    let gold = marks(
        "a.md 0 5 Service x
         a.md 10 15 Person y
         a.md 20 30 Person y
         b.md 0 5 Person z",
    );
    let found = marks(
        "a.md 0 5 service 1
         a.md 0 5 Product 2
         a.md 10 14 Person 3
         a.md 22 24 Person 3
         a.md 25 29 Person 3
         a.md 40 44 Person 3",
    );
    let MentionScores { exact, exact_typed, overlap, overlap_typed } = mentions(&gold, &found);
    let table = [exact, exact_typed, overlap, overlap_typed].map(shown).join("\n");
    expect![[r#"
        1 right, 4 wrong, 3 missed: P 0.200 R 0.250 F 0.222
        1 right, 5 wrong, 3 missed: P 0.167 R 0.250 F 0.200
        3 right, 2 wrong, 1 missed: P 0.600 R 0.750 F 0.667
        3 right, 2 wrong, 1 missed: P 0.600 R 0.750 F 0.667"#]]
    .assert_eq(&table);
}

#[test]
fn one_long_span_pays_for_one_mention_only() {
    let gold = marks("a 0 3 P x\na 4 7 P x\na 8 11 P x");
    let found = marks("a 0 11 P 1");
    expect!["1 right, 0 wrong, 2 missed: P 1.000 R 0.333 F 0.500"]
        .assert_eq(&shown(mentions(&gold, &found).overlap));
}

#[test]
fn a_name_is_compared_with_itself_and_not_with_the_step_around_it() {
    let gold = marks("a 5 8 P x");
    let found = marks("a 0 20 Step 1\na 5 8 P 2");
    assert_eq!(mentions(&gold, &found).overlap_typed.right, 1);
    let links = Links::of(&gold, &found, |id| Some(id.to_string()), |name, _| name == "2");
    assert_eq!(links.scores().right, 1);
}

#[test]
fn links_by_pairs_and_by_name() {
    // Entity 1 mixes x and y; y's other mention is alone; the last span was not found.
    let gold = marks("a 0 1 P x\na 2 3 P x\na 4 5 P y\na 6 7 P y\na 8 9 P y");
    let found = marks("a 0 1 P 1\na 2 3 P 1\na 4 5 P 1\na 6 7 P -");
    let links = Links::of(
        &gold,
        &found,
        |id| (id == "1").then(|| "X!".to_string()),
        |name, gold| norm(name) == gold,
    );
    let LinkScores { pairwise, accuracy, mentions, .. } = links.scores();
    expect!["1 right, 2 wrong, 1 missed: P 0.333 R 0.500 F 0.400; accuracy 0.5 of 4"]
        .assert_eq(&format!("{}; accuracy {accuracy} of {mentions}", shown(pairwise)));
}

#[test]
fn perfect_links_score_one() {
    let gold = marks("a 0 1 P x\na 2 3 P x\na 4 5 P y");
    let links = Links::of(&gold, &gold, |id| Some(id.to_string()), |name, gold| name == gold);
    let scores = links.scores();
    assert_eq!((scores.pairwise.f1(), scores.accuracy), (1.0, 1.0));
    assert_eq!([links.interval_of_pairs(), links.interval_of_accuracy()], [[1.0, 1.0]; 2]);
}

#[test]
fn intervals_of_links_hold_the_score_and_draw_whole_documents() {
    // Nine documents are linked correctly; the tenth confuses two entities.
    let mut rows = String::new();
    for doc in 0..9 {
        rows.push_str(&format!("d{doc} 0 1 P x\nd{doc} 2 3 P y\n"));
    }
    let gold = marks(&format!("{rows}d9 0 1 P x\nd9 2 3 P y\n"));
    let found = marks(&format!("{rows}d9 0 1 P y\nd9 2 3 P y\n"));
    let links = Links::of(&gold, &found, |id| Some(id.to_string()), |name, gold| name == gold);
    let LinkScores { pairwise, accuracy, .. } = links.scores();
    for ([low, high], score) in
        [(links.interval_of_pairs(), pairwise.f1()), (links.interval_of_accuracy(), accuracy)]
    {
        assert!(low < score && score < high && high == 1.0, "{low} {score} {high}");
    }
    // A mention and its copy in a document that was drawn twice are not a correct pair.
    let one = marks("a 0 1 P x\na 2 3 P y");
    let wrong = marks("a 0 1 P z\na 2 3 P z");
    let links = Links::of(&one, &wrong, |_| None, |_, _| false);
    assert_eq!(links.interval_of_pairs(), [0.0, 0.0]);
}

fn relation_set(text: &str) -> BTreeSet<RelationMark> {
    let rows = text
        .lines()
        .map(str::split_whitespace)
        .filter_map(|row| <[&str; 4]>::try_from(row.collect::<Vec<_>>()).ok());
    rows.map(|[path, subject, predicate, object]| RelationMark {
        path: path.into(),
        subject: subject.into(),
        predicate: predicate.into(),
        object: object.into(),
    })
    .collect()
}

#[test]
fn relations_with_and_without_predicate() {
    let gold = relation_set("a s uses t\na s owned_by u\nb s uses t");
    let found = relation_set("a s uses t\na s part_of u\na t uses s\nc s uses t");
    let RelationScores { typed, untyped, by_predicate, .. } = relations(&gold, &found);
    let mut table = format!("typed {}\nuntyped {}\n", shown(typed), shown(untyped));
    by_predicate
        .iter()
        .for_each(|(name, counts)| table.push_str(&format!("{name} {}\n", shown(*counts))));
    expect![[r#"
        typed 1 right, 3 wrong, 2 missed: P 0.250 R 0.333 F 0.286
        untyped 2 right, 2 wrong, 1 missed: P 0.500 R 0.667 F 0.571
        owned_by 0 right, 0 wrong, 1 missed: P 1.000 R 0.000 F 0.000
        part_of 0 right, 1 wrong, 0 missed: P 0.000 R 1.000 F 0.000
        uses 1 right, 2 wrong, 1 missed: P 0.333 R 0.500 F 0.400
    "#]]
    .assert_eq(&table);
}

#[test]
fn what_direction_and_the_untyped_relation_cost() {
    let gold = relation_set("a s uses t\na s related_to u\na v owned_by w");
    let found = relation_set("a t uses s\na u related_to s\na v part_of w\na x related_to y");
    let mut table = String::new();
    for (name, counts) in relations(&gold, &found).rows() {
        table.push_str(&format!("{name}: {}\n", shown(counts)));
    }
    expect![[r#"
        relations: 0 right, 4 wrong, 3 missed: P 0.000 R 0.000 F 0.000
        relations without related_to: 0 right, 2 wrong, 2 missed: P 0.000 R 0.000 F 0.000
        relations, either direction: 2 right, 2 wrong, 1 missed: P 0.500 R 0.667 F 0.571
        relations, any predicate: 1 right, 3 wrong, 2 missed: P 0.250 R 0.333 F 0.286
        any predicate, either direction: 3 right, 1 wrong, 0 missed: P 0.750 R 1.000 F 0.857
    "#]]
    .assert_eq(&table);
}

#[test]
fn ranks_of_documents() {
    let question = |wanted: &str, ranked: &str| {
        let list = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        (list(wanted).into_iter().collect::<BTreeSet<_>>(), list(ranked))
    };
    let table = [
        ("first", "a", "a b c"),
        ("second, after repeats", "a", "b b b a"),
        ("one of two", "a z", "a b c d e f z"),
        ("sixth", "f", "a b c d e f"),
        ("eleventh", "k", "a b c d e f g h i j k"),
        ("nothing", "a", ""),
    ];
    let mut text = String::new();
    for (name, wanted, ranked) in table {
        let RankScores { recall_at_5, success_at_5, mrr, ndcg_at_10 } =
            ranks(&[question(wanted, ranked)]);
        text.push_str(&format!(
            "{name}: recall {recall_at_5} success {success_at_5} mrr {mrr} ndcg {ndcg_at_10}\n"
        ));
    }
    expect![[r#"
        first: recall 1 success 1 mrr 1 ndcg 1
        second, after repeats: recall 1 success 1 mrr 0.5 ndcg 0.6309
        one of two: recall 0.5 success 1 mrr 1 ndcg 0.8175
        sixth: recall 0 success 0 mrr 0.1667 ndcg 0.3562
        eleventh: recall 0 success 0 mrr 0.0909 ndcg 0
        nothing: recall 0 success 0 mrr 0 ndcg 0
    "#]]
    .assert_eq(&text);
    let mean = ranks(&[question("a", "a"), question("a", "b a")]);
    assert_eq!(mean.mrr, 0.75);
}

#[test]
fn the_nth_appearance_does_not_overlap_the_one_before() {
    let table = [
        ("aaaa", "aa", 1, Some((0, 2))),
        ("aaaa", "aa", 2, Some((2, 4))),
        ("aaaa", "aa", 3, None),
        ("é a", "a", 1, Some((3, 4))),
        ("a", "a", 0, None),
    ];
    for (text, surface, nth, expected) in table {
        assert_eq!(nth_span(text, surface, nth), expected, "{text} {surface} {nth}");
    }
}

#[test]
fn nothing_to_find_and_nothing_found_is_perfect() {
    assert_eq!(Counts::default().f1(), 1.0);
    let json =
        serde_json::to_string(&Counts { right: 2, wrong: 1, missed: 0 }).expect("plain data");
    expect![[r#"{"precision":0.6667,"recall":1.0,"f1":0.8,"right":2,"wrong":1,"missed":0}"#]]
        .assert_eq(&json);
}
