//! The team of a plan: which phases are whose, and how far each member is.

use serde_json::json;

use super::state::{PhaseStatus, Run};
use crate::checkpoint::TeamMember;
use crate::patch::Op;
use crate::plan::{Body, NamedMember, Phase, Plan};

/// At work on one of its tasks.
const ACTIVE: &str = "active";
/// All of its tasks are done.
const DONE: &str = "done";
const IDLE: &str = "idle";

/// The phases that are tasks of each member of the team, by position.
pub(super) fn tasks(plan: &Plan) -> Vec<Vec<usize>> {
    let of = |member: &NamedMember| {
        let all = plan.phases.iter().enumerate();
        all.filter(|(_, phase)| is_task_of(phase, member)).map(|(at, _)| at).collect()
    };
    plan.team.iter().map(of).collect()
}

/// A phase is the task of the agent that does it, and of a member that is called as the phase is, or whose role is.
fn is_task_of(phase: &Phase, member: &NamedMember) -> bool {
    let used = match &phase.body {
        Body::Agent(block) => block.get("use").and_then(serde_json::Value::as_str),
        Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => None,
    };
    let named = |name: &str| name == phase.id.as_str();
    used == Some(member.agent.as_str()) || named(&member.agent) || member.role.as_deref().is_some_and(named)
}

impl Run {
    /// The team as the plan names it. One that a file told stays where the plan names none.
    pub(super) fn name_the_team(&mut self) {
        if self.started.plan.team.is_empty() {
            return;
        }
        let members: Vec<TeamMember> = (0..self.started.plan.team.len()).map(|at| self.member(at)).collect();
        if self.sections().team.members != members {
            self.set_section("/team/members", |sections| &mut sections.team.members, members);
        }
    }

    /// A phase has another status: whoever's task it is stands otherwise.
    pub(super) fn keep_the_team_current(&mut self, phase: usize) {
        let index = self.derived.index.clone();
        for (at, tasks) in index.tasks.iter().enumerate() {
            if !tasks.contains(&phase) {
                continue;
            }
            let member = self.member(at);
            match self.sections.team.members.get(at) {
                Some(known) if *known != member => {
                    self.note(Op::Set { path: format!("/team/members/{at}"), value: json!(member) });
                    self.sections.team.members[at] = member;
                }
                Some(_) | None => {}
            }
        }
    }

    fn member(&self, at: usize) -> TeamMember {
        let NamedMember { agent, role } = self.started.plan.team[at].clone();
        let tasks = &self.derived.index.tasks[at];
        let count =
            |wanted: fn(PhaseStatus) -> bool| tasks.iter().filter(|&&at| wanted(self.phases[at].status)).count();
        let is_finished = |status| matches!(status, PhaseStatus::Completed | PhaseStatus::Skipped);
        let (done, left) = (count(|status| status == PhaseStatus::Completed), tasks.len() - count(is_finished));
        let status = match (count(|status| status == PhaseStatus::Running), left) {
            (0, 0) if !tasks.is_empty() => DONE,
            (0, _) => IDLE,
            (_, _) => ACTIVE,
        };
        let (tasks_completed, tasks_pending) = (done as u64, left as u64);
        TeamMember { agent, role, status: Some(status.to_owned()), tasks_completed, tasks_pending }
    }
}
