//! Many at once: every reply is one commit's, whatever others write, decide, break off or fail to read.

use tests::TestProject;
use tests::crowd::Crowd;

#[test]
fn every_reply_of_a_crowd_is_one_commit_s() {
    let mut project = TestProject::empty();
    let crowd = Crowd { n_askers: 64, n_writers: 8, n_bulk: 300 };
    crowd.prepare(&mut project);
    let report = crowd.run(&project, |round| round >= 6);
    assert_eq!(report.complaints, Vec::<String>::new());
    // The checks had something to check.
    assert_eq!((report.n_written, report.n_decided, report.n_bulk), (48, 96, 300));
    assert!(report.n_compared > 20 && report.n_ticks > 20 && report.n_versioned > 20, "{report:?}");
    let log = project.log();
    assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
}
