//! Generated: many files at once, as a generator or an export would write them.

use std::path::Path;

use anyhow::Result;

/// Files per folder.
const A_FOLDER: usize = 200;

/// Writes `n` notes below `root/bulk`, each with a heading, names and links; 330 bytes on average.
pub(crate) fn write(root: &Path, n: usize) -> Result<()> {
    for i in 0..n {
        let folder = root.join(format!("bulk/{}", i / A_FOLDER));
        if i % A_FOLDER == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        std::fs::write(folder.join(format!("{i}.md")), text(i, n))?;
    }
    Ok(())
}

fn text(i: usize, n: usize) -> String {
    let next = (i * 7 + 1) % n;
    let (team, region, limit) = (i % 50, i % 12, 100 + i % 400);
    let link = format!("../{}/{next}.md", next / A_FOLDER);
    format!(
        "# Service {i}\n\nService {i} depends on [Service {next}]({link}) and is run by Team {team}.\n\n\
         ## Deploying\n\n1. Build image {i}.\n2. Roll out to region {region}.\n3. Watch the errors.\n\n\
         ## Alerts\n\nWhen latency of Service {i} rises above {limit} ms, call Team {team}.\n\
         The queue `jobs-{i}` may be full.\n"
    )
}
