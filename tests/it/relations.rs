//! Relations end to end: what corroborates, what contradicts, and relations that a user adds.

use proto::tool::core::{ExplainEntity, ReviewLinks};
use tests::{Graph, TestProject};

fn explain(project: &mut TestProject, name: &str) -> proto::tool::core::ExplainReply {
    let mut client = project.client();
    client.call(&ExplainEntity { name: Some(name.into()), why: Some(true), ..Default::default() })
}
