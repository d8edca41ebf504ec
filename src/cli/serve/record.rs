//! Recording while the service runs.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use prometheus_client::registry::{Registry, Unit};
use promptd::{
    config::Config,
    grpc::{Answered, FinishRecord, Record},
};
use promptd_record::{Copy, Recorder};

use super::Failure;

/// How long the end of the process waits for what is still to be written.
const FINISH_LIMIT: Duration = Duration::from_secs(5);

pub(super) struct Recording(Arc<Recorder>);

/// Starts recording if the config names a folder. A folder that cannot be used now does not keep the service from starting.
pub(super) fn start(config: &Config, registry: &mut Registry) -> Result<Option<Recording>, Failure> {
    let Some(options) = &config.record else { return Ok(None) };
    let recorder = Recorder::start(options.clone());
    let recorder = recorder.map_err(|error| Failure::input(format!("error: cannot start recording: {error}")))?;
    let status = recorder.status();
    registry.register("record_requests", "Requests recorded", status.written.clone());
    registry.register("record_dropped", "Requests not recorded, by reason", status.dropped.clone());
    let help = "Requests removed from the records, being too old or too many";
    registry.register("record_removed", help, status.removed.clone());
    registry.register("record_failing", "1 while requests cannot be recorded", status.failing.clone());
    registry.register_with_unit("record", "What the records take of the disk", Unit::Bytes, status.bytes.clone());
    Ok(Some(Recording(Arc::new(recorder))))
}

impl Recording {
    /// What the service calls for each request.
    pub(super) fn hook(&self) -> Record {
        let recorder = Arc::clone(&self.0);
        Arc::new(move |request, now| {
            recorder.takes_next().then(|| {
                let (copy, recorder) = (Copy::of(request, now), Arc::clone(&recorder));
                let finish: FinishRecord = Box::new(move |answered| record(&recorder, copy, answered));
                finish
            })
        })
    }

    /// Waits, not for long, until everything is written.
    pub(super) fn finish(self) {
        if !self.0.flush(FINISH_LIMIT) {
            tracing::warn!("the last requests were not recorded before the end");
        }
    }
}

fn record(recorder: &Recorder, copy: Copy, answered: &Answered<'_>) {
    let how = promptd_record::Answered {
        revision: answered.loaded.snapshot.revision.to_string(),
        profile: answered.profile.name.to_string(),
        token_skills: answered.token_skills.cloned(),
        digest: answered.digest,
        at: Timestamp::now(),
    };
    recorder.record(copy, how, answered.loaded.origin.as_ref());
}
