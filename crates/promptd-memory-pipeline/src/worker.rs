//! Making summaries: jobs of the store, worked off a few at once.

use std::{collections::HashMap, sync::Arc, time::Duration};

use promptd_memory::{Job, Jobs, Outcome, Source, Store, StoreError};
use tokio::{
    sync::Notify,
    task::{Id as TaskId, JoinSet},
    time::{Instant, sleep_until},
};

use crate::{
    AFTER_FAILURE, Fault, LOG_TARGET, Request, Said, Status, Summaries,
    breaker::{Breaker, wait},
    quota::Quota,
};

/// How often a job is tried before it is set aside; failures while the server is away do not count.
const MAX_TRIES: u32 = 8;
/// The most bytes of messages that a summary is made of.
const MAX_SOURCE_BYTES: usize = 1 << 20;
/// How long a job waits whose request cannot be made, since its workspace cannot be used.
const WITHOUT_REQUEST: Duration = Duration::from_secs(60);
/// The longest that the work rests.
const MAX_REST: Duration = Duration::from_secs(3_600);

pub(crate) struct Work {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) summaries: Summaries,
    pub(crate) quota: Quota,
    pub(crate) breaker: Breaker,
    pub(crate) planned: Arc<Notify>,
    pub(crate) summarised: Arc<Notify>,
    pub(crate) status: Status,
}

/// The jobs that a model is asked for, by the task that asks.
type UnderWay = HashMap<TaskId, Job>;
/// What a model made of a job.
type Tried = Result<Said, Fault>;

impl Work {
    /// Works until it is dropped.
    pub(crate) async fn run(self) {
        let (mut asked, mut under_way) = (JoinSet::new(), UnderWay::new());
        loop {
            let next = match self.ask(&mut asked, &mut under_way).await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(target: LOG_TARGET, "no summaries are made now: {error}");
                    Instant::now() + AFTER_FAILURE
                }
            };
            tokio::select! {
                Some(tried) = asked.join_next_with_id() => {
                    let (task, said) = match tried {
                        Ok((task, said)) => (task, said),
                        Err(error) => (error.id(), Err(Fault::OfAnswer("making the summary failed".into()))),
                    };
                    if let Some(job) = under_way.remove(&task) {
                        self.store_result(&job, said).await;
                    }
                }
                () = self.planned.notified() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// Asks for as many summaries as may be made at once; says when to look again.
    async fn ask(&self, asked: &mut JoinSet<Tried>, under_way: &mut UnderWay) -> Result<Instant, StoreError> {
        let later = Instant::now() + MAX_REST;
        let free = match self.breaker.admits(self.summaries.concurrency) {
            Ok(most) => most.saturating_sub(under_way.len()),
            Err(until) => return Ok(until),
        };
        if free == 0 {
            return Ok(later);
        }
        let most = under_way.len() + free;
        let Jobs { jobs, next } = self.store.jobs(most).await?;
        let next = next.map_or(later, |next| Instant::now() + next);
        // Behind those that are put off there may be others.
        let (may_be_more, mut is_put_off) = (jobs.len() >= most, false);
        let is_free = |job: &Job| under_way.values().all(|other| other.segment != job.segment);
        for job in jobs.into_iter().filter(is_free).take(free).collect::<Vec<_>>() {
            let (request, chars) = match self.request(&job).await {
                Some(Ok(asked)) => asked,
                Some(Err(fault)) => {
                    self.store.finish(&job, Outcome::Later { wait: WITHOUT_REQUEST, fault, counts: false }).await?;
                    is_put_off = true;
                    continue;
                }
                // It has gone.
                None => continue,
            };
            if let Err(wait) = self.quota.take(request.tokens()) {
                return Ok(next.min(Instant::now() + wait));
            }
            let model = Arc::clone(&self.summaries.model);
            let asking = asked.spawn(async move { model.say(request).await.and_then(|said| said.checked(chars)) });
            under_way.insert(asking.id(), job);
        }
        Ok(match is_put_off {
            true if may_be_more => Instant::now(),
            true => next.min(Instant::now() + WITHOUT_REQUEST),
            false => next,
        })
    }

    /// What a model is asked, and how many characters its answer is about; `None`: there is no such job any more. The error is the
    /// workspace's or the session's, which an operator puts right; others have their summaries meanwhile.
    async fn request(&self, job: &Job) -> Option<Result<(Request, usize), String>> {
        let source = match self.store.source(job, MAX_SOURCE_BYTES).await {
            Ok(source) => source,
            Err(StoreError::NoSession) => return None,
            Err(error) => return Some(Err(error.to_string())),
        };
        let chars = match &source {
            Source::Messages(messages) => messages.iter().map(|stored| stored.message.content.chars().count()).sum(),
            Source::Segments(children) => children.iter().map(|child| child.summary.chars().count()).sum(),
        };
        let request = self.summaries.prompts.request(&job.session.workspace, source, job.target_tokens).await;
        Some(request.map(|request| (request, chars)))
    }

    /// Stores what became of a job.
    async fn store_result(&self, job: &Job, said: Tried) {
        let outcome = self.outcome(job, said);
        match self.store.finish(job, outcome).await {
            Ok(_) => self.summarised.notify_one(),
            Err(error) => tracing::warn!(target: LOG_TARGET, "a summary is not stored, and is made again: {error}"),
        }
    }

    fn outcome(&self, job: &Job, said: Tried) -> Outcome {
        let was_away = self.breaker.is_open();
        let fault = match said {
            Ok(Said { text, tokens }) => {
                self.breaker.succeeded();
                self.status.summarised.inc();
                self.report(was_away, "");
                return Outcome::Summary(text, tokens);
            }
            Err(fault) => fault,
        };
        self.status.failed.inc();
        self.breaker.heard(&fault);
        let is_away = self.breaker.is_open();
        self.report(was_away, fault.message());
        let fault = fault.message().to_owned();
        if !is_away && job.tries + 1 >= MAX_TRIES {
            self.status.set_aside.inc();
            return Outcome::SetAside(fault);
        }
        Outcome::Later { wait: wait(job.tries), fault, counts: !is_away }
    }

    /// Says in the log and in the metrics when the model goes away, or is back.
    fn report(&self, was_away: bool, fault: &str) {
        let is_away = self.breaker.is_open();
        self.status.away.set(is_away.into());
        if is_away && !was_away {
            tracing::warn!(target: LOG_TARGET, "no summaries are made until the model answers again: {fault}");
        } else if was_away && !is_away {
            tracing::info!(target: LOG_TARGET, "summaries are made again");
        }
    }
}

#[cfg(test)]
mod tests {
    use promptd_core::id::Id;
    use promptd_memory::{Options, SessionKey, SqliteStore};

    use super::*;
    use crate::{Later, Prompts, Summariser};

    struct Nobody;

    impl Prompts for Nobody {
        fn request<'a>(&'a self, _: &'a Id, _: Source, _: u32) -> Later<'a, Result<Request, String>> {
            Box::pin(async { Err("no workspace".into()) })
        }
    }

    impl Summariser for Nobody {
        fn say(&self, _: Request) -> Later<'_, Result<Said, Fault>> {
            Box::pin(async { Err(Fault::OfAnswer("nothing".into())) })
        }
    }

    fn work(store: Arc<dyn Store>) -> Work {
        Work {
            store,
            summaries: Summaries {
                model: Arc::new(Nobody),
                prompts: Arc::new(Nobody),
                concurrency: 2,
                tokens_per_hour: None,
            },
            quota: Quota::new(None),
            breaker: Breaker::default(),
            planned: Arc::default(),
            summarised: Arc::default(),
            status: Status::default(),
        }
    }

    fn job(tries: u32) -> Job {
        let id = |text| Id::parse(text).unwrap();
        let session = SessionKey { workspace: id("w"), session: id("s") };
        Job { segment: 1, session, level: 0, messages: 0..3, target_tokens: 200, tries }
    }

    #[tokio::test]
    async fn what_fails_for_good_is_set_aside_unless_the_server_is_away() {
        let home = tempfile::tempdir().unwrap();
        let options = Options::new(home.path().to_owned());
        let work = work(Arc::new(SqliteStore::open(&options).unwrap()));
        let empty = || Err(Fault::OfAnswer("it is empty".into()));
        let hangs = || Err(Fault::OfServer { message: "it hangs".into(), pause: None });
        let counts = |outcome: &Outcome| matches!(outcome, Outcome::Later { counts: true, .. });
        assert!(counts(&work.outcome(&job(0), empty())));
        assert!(counts(&work.outcome(&job(6), empty())));
        assert_eq!(work.outcome(&job(7), empty()), Outcome::SetAside("it is empty".into()));
        for _ in 0..4 {
            assert!(counts(&work.outcome(&job(0), hangs())));
        }
        assert_eq!(work.status.away.get(), 0);
        for tries in [0, 7, 100] {
            assert!(matches!(work.outcome(&job(tries), hangs()), Outcome::Later { counts: false, .. }), "{tries}");
        }
        assert_eq!(work.status.away.get(), 1);
        let said = Said { text: "a summary".into(), tokens: 2 };
        assert_eq!(work.outcome(&job(0), Ok(said)), Outcome::Summary("a summary".into(), 2));
        assert_eq!((work.status.away.get(), work.status.failed.get(), work.status.set_aside.get()), (0, 10, 1));
        let busy = Err(Fault::OfServer { message: "429".into(), pause: Some(Duration::from_secs(9)) });
        assert!(matches!(work.outcome(&job(7), busy), Outcome::Later { counts: false, .. }));
        assert!(work.breaker.admits(2).is_err());
    }
}
