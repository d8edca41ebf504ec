//! Whole plans.

mod properties;

use std::ops::Range;

use super::*;
use crate::{time::Moment, turn::Role};

const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];

fn of(first_index: u64, messages: Vec<HistoryMessage>) -> History {
    History { first_index, messages, segments: Vec::new() }
}

fn counted(role: Role, tokens: u32) -> HistoryMessage {
    HistoryMessage { tokens: Some(tokens), ..HistoryMessage::new(role, "") }
}

/// `count` messages of so many tokens, without a text.
fn plain(count: usize, tokens: u32) -> Vec<HistoryMessage> {
    (0..count).map(|index| counted(ROLES[index % 2], tokens)).collect()
}

fn ranges(plan: &Plan) -> Vec<Range<u64>> {
    plan.segments.iter().map(|segment| segment.messages.clone()).collect()
}

/// A segment as the caller keeps it.
fn kept(segment: &PlannedSegment) -> HistorySegment {
    HistorySegment {
        id: format!("0:{}", segment.messages.start),
        message_start: segment.messages.start,
        message_end: segment.messages.end,
        start_time: segment.start_time,
        end_time: segment.end_time,
        tokens: segment.tokens,
        is_summarised: true,
        ..HistorySegment::default()
    }
}

fn existing(level: u32, start: u64, end: u64) -> HistorySegment {
    let id = format!("{level}:{start}");
    HistorySegment { id, level, message_start: start, message_end: end, is_summarised: true, ..<_>::default() }
}

#[test]
fn a_plan_waits_for_messages_and_tokens() {
    let kern = Thresholds::default();
    let waiting = |messages, tokens, messages_missing, tokens_missing| {
        Some(Waiting { messages, tokens, messages_missing, tokens_missing })
    };
    for (first, messages, settled, waits) in [
        (0, plain(2, 50), 0, waiting(2, 100, 1, 0)),
        (0, plain(3, 1), 3, None),
        (7, plain(9, 5_000), 7, waiting(9, 45_000, 1, 0)),
        (7, plain(10, 999), 7, waiting(10, 9_990, 0, 10)),
        (7, plain(10, 1_000), 17, None),
        (7, vec![], 7, None),
        // A full chunk does not wait.
        (7, plain(499, 1), 7, waiting(499, 499, 0, 9_501)),
        (7, plain(500, 1), 507, None),
        (7, plain(502, 1), 507, waiting(2, 2, 1, 0)),
        (7, plain(503, 1), 510, None),
    ] {
        let count = messages.len();
        let plan = plan(&of(first, messages), &kern);
        assert_eq!((plan.settled_end, plan.waiting), (settled, waits), "{first} {count}");
        assert_eq!(plan.segments.is_empty(), settled == first, "{first} {count}");
    }
}

#[test]
fn existing_segments_are_gone_around() {
    let kern = Thresholds::default();
    for (first, count, segments, new, settled) in [
        // A start that lies in what is settled: nothing is planned twice.
        (0, 400, vec![existing(0, 0, 400)], None, 400),
        (0, 400, vec![existing(0, 0, 300), existing(0, 300, 900)], None, 900),
        // A gap is closed, however small, and what comes after waits.
        (0, 405, vec![existing(0, 0, 260), existing(0, 262, 400)], Some(260..262), 400),
        // A child and its parent cover the same.
        (100, 50, vec![existing(1, 0, 120), existing(0, 100, 110)], None, 120),
        (100, 50, vec![existing(0, 150, 160)], Some(100..150), 160),
        (100, 50, vec![existing(0, 0, 50), existing(0, 200, 300)], None, 100),
    ] {
        let history = History { segments, ..of(first, plain(count, 10)) };
        let plan = plan(&history, &kern);
        assert_eq!((ranges(&plan), plan.settled_end), (new.into_iter().collect(), settled), "{:?}", history.segments);
    }
}

#[test]
fn a_segment_has_times_tokens_and_a_target() {
    let at = |seconds| Moment::new(seconds, 0).ok();
    let mut messages = plain(12, 1_000);
    (messages[2].time, messages[9].time) = (at(20), at(90));
    let plan = plan(&of(100, messages), &Thresholds::default());
    let expected = PlannedSegment {
        messages: 100..112,
        start_time: at(20),
        end_time: at(90),
        tokens: 12_000,
        target_tokens: 1_200,
        cut: Cut::End,
        merged: Vec::new(),
    };
    assert_eq!(plan.segments, [expected]);
}

#[test]
fn embeddings_decide_where_the_topic_shifts() {
    let mut messages = plain(40, 500);
    for (index, message) in messages.iter_mut().enumerate() {
        message.embedding = if index < 17 { vec![1.0, 0.0, 0.0] } else { vec![0.0, 1.0, 0.0] };
    }
    let plan = plan(&of(0, messages), &Thresholds::default());
    assert_eq!(ranges(&plan), [0..17, 17..40]);
    assert_eq!(plan.segments.iter().map(|s| s.cut).collect::<Vec<_>>(), [Cut::Topic, Cut::End]);
}

/// What is said on three topics, in one language, and what is said on any.
struct Language {
    topics: [[&'static str; 8]; 3],
    fillers: [&'static str; 3],
}

const LANGUAGES: [Language; 3] = [
    Language {
        topics: [
            [
                "Berth 4 is closed until the crane has been inspected.",
                "The pilot boards two miles off the breakwater.",
                "High water is at 14:20, so the tug leaves at noon.",
                "Can the ferry take berth 6 with a draught of 4.6 m?",
                "The mooring lines on the quay are worn out.",
                "The harbour master wants the crane report first.",
                "Which tug is free when the tide turns?",
                "The pilot says that the berth is too short for the ferry.",
            ],
            [
                "The invoice of March has not been paid yet.",
                "Send the auditor a copy of each receipt.",
                "The bank statement shows a refund of 120 euros.",
                "Which tax form do we need for the payroll?",
                "The ledger and the bank statement differ by 7 euros.",
                "The auditor asks why the invoice has no number.",
                "Payroll is due on Friday, tax on the tenth.",
                "Book the refund against the invoice in the ledger.",
            ],
            [
                "Put the dough into a warm oven to rise.",
                "The sauce needs more basil and less salt.",
                "Fry the onions in olive oil until they are golden.",
                "How long does the pasta boil for six guests?",
                "The recipe says to knead the dough twice.",
                "Add garlic to the sauce once the onions are soft.",
                "Bake it in the oven for forty minutes.",
                "Grate the cheese over the pasta before the guests come.",
            ],
        ],
        fillers: ["OK, thanks.", "Anything else?", "I will look into it."],
    },
    Language {
        topics: [
            [
                "四号泊位关闭，等起重机检查完再开放。",
                "引航员在防波堤外两海里登船。",
                "高潮在下午两点，拖船中午出发。",
                "吃水四米六的渡轮能靠六号泊位吗？",
                "码头上的缆绳已经磨损了。",
                "港务长要先看起重机的报告。",
                "潮水转向时哪条拖船有空？",
                "引航员说泊位对渡轮来说太短。",
            ],
            [
                "三月的发票还没有付款。",
                "把每张收据的副本寄给审计师。",
                "银行对账单上有一笔退款。",
                "发工资需要哪种税表？",
                "账簿和银行对账单差七欧元。",
                "审计师问发票为什么没有编号。",
                "工资星期五发，税款十号交。",
                "把退款记在账簿的发票下面。",
            ],
            [
                "把面团放进温热的烤箱发酵。",
                "酱汁里多放罗勒，少放盐。",
                "用橄榄油把洋葱炒到金黄。",
                "六位客人的意大利面要煮多久？",
                "食谱说面团要揉两次。",
                "洋葱变软以后往酱汁里加大蒜。",
                "放进烤箱烤四十分钟。",
                "客人来之前把奶酪撒在意大利面上。",
            ],
        ],
        fillers: ["好的，谢谢。", "还有别的吗？", "我去看看。"],
    },
    Language {
        topics: [
            [
                "クレーンの点検が終わるまで四番バースは閉鎖です。",
                "水先案内人は防波堤の沖で乗船します。",
                "満潮は十四時なので、タグボートは正午に出ます。",
                "喫水四・六メートルのフェリーは六番バースに入れますか。",
                "埠頭の係留索が傷んでいます。",
                "港長はまずクレーンの報告書を求めています。",
                "潮が変わる時、どのタグボートが空いていますか。",
                "水先案内人によると、バースはフェリーには短すぎます。",
            ],
            [
                "三月の請求書がまだ支払われていません。",
                "領収書の写しを監査人に送ってください。",
                "銀行明細に返金が載っています。",
                "給与にはどの税務書類が必要ですか。",
                "元帳と銀行明細が七ユーロ合いません。",
                "監査人は請求書に番号がない理由を聞いています。",
                "給与は金曜日、税金は十日が期限です。",
                "返金を元帳の請求書に記入してください。",
            ],
            [
                "生地を温かいオーブンに入れて発酵させます。",
                "ソースにはバジルを増やし、塩を減らします。",
                "玉ねぎをオリーブ油で炒めます。",
                "お客さん六人分のパスタは何分ゆでますか。",
                "レシピでは生地を二回こねます。",
                "玉ねぎが柔らかくなったらソースににんにくを加えます。",
                "オーブンで四十分焼きます。",
                "お客さんが来る前にパスタにチーズをかけます。",
            ],
        ],
        fillers: ["了解です。", "他に何かありますか。", "確認します。"],
    },
];

/// A conversation that goes through the topics, so many messages each; every fifth message is on none.
fn conversation(language: &Language, topics: &[(usize, usize)]) -> Vec<HistoryMessage> {
    let mut messages = Vec::new();
    for &(topic, count) in topics {
        for own in 0..count {
            let (at, said) = (messages.len(), language.topics[topic]);
            let text = match own % 5 {
                4 => language.fillers[at % 3].to_owned(),
                _ => format!("{} {}", said[at * 5 % 8], said[(at * 3 + own / 8) % 8]),
            };
            messages.push(HistoryMessage::new(ROLES[at % 2], &text));
        }
    }
    messages
}

#[test]
fn words_show_where_the_topic_shifts_in_any_script() {
    for language in &LANGUAGES {
        for topics in [&[(0, 20), (1, 20), (2, 20)][..], &[(0, 24)], &[(1, 45)], &[(1, 14), (0, 30), (1, 16), (2, 18)]]
        {
            let plan = plan(&of(0, conversation(language, topics)), &Thresholds::default());
            let mut shift = 0;
            for (segment, (_, count)) in plan.segments.iter().zip(topics) {
                // A message on no topic can be between two.
                assert!(segment.messages.start.abs_diff(shift) <= 2, "{:?}: {:?}", topics, ranges(&plan));
                shift += *count as u64;
            }
            assert_eq!(plan.segments.len(), topics.len(), "{:?}: {:?}", topics, ranges(&plan));
        }
    }
}

/// A caller that plans after each message, keeps what was planned, and has a summary of each segment at once.
#[derive(Default)]
struct Caller {
    history: Vec<HistoryMessage>,
    segments: Vec<HistorySegment>,
    settled: u64,
}

impl Caller {
    fn request(&self, from: u64) -> History {
        let from = from.max((self.history.len() as u64).saturating_sub(500));
        let messages = self.history[usize::try_from(from).unwrap()..].to_vec();
        History { first_index: from, messages, segments: self.segments.clone() }
    }

    fn keep(&mut self, plan: &Plan) {
        for rollup in &plan.rollups {
            let id = format!("{}:{}", rollup.level, rollup.messages.start);
            for &child in &rollup.children {
                assert_eq!(self.segments[child].parent_id, "");
                self.segments[child].parent_id.clone_from(&id);
            }
            let parent = existing(rollup.level, rollup.messages.start, rollup.messages.end);
            self.segments.push(HistorySegment { id, tokens: rollup.tokens, ..parent });
        }
        self.segments.extend(plan.segments.iter().map(kept));
        self.settled = plan.settled_end;
    }
}

#[test]
fn ten_thousand_messages_one_by_one_settle_once() {
    let kern = Thresholds::default();
    let topics: Vec<_> = (0..300).map(|at| (at * 7 % 3, 20 + at * 11 % 30)).collect();
    let mut messages = conversation(&LANGUAGES[0], &topics);
    messages.truncate(10_000);
    assert_eq!(messages.len(), 10_000);
    let mut caller = Caller::default();
    for (index, mut message) in messages.into_iter().enumerate() {
        message.tokens = Some(20 + u32::try_from(index * 37 % 400).unwrap());
        caller.history.push(message);
        let planned = plan(&caller.request(caller.settled), &kern);
        if index % 97 == 0 || !planned.segments.is_empty() {
            // What is settled stays so, however much of it is sent again.
            for earlier in [0, caller.settled.saturating_sub(40)] {
                let again = plan(&caller.request(earlier), &kern);
                assert_eq!((&again.segments, &again.rollups), (&planned.segments, &planned.rollups), "{index}");
                assert_eq!((again.settled_end, again.waiting), (planned.settled_end, planned.waiting), "{index}");
            }
        }
        caller.keep(&planned);
    }
    let mut leaves: Vec<_> = caller.segments.iter().filter(|segment| segment.level == 0).collect();
    leaves.sort_by_key(|leaf| leaf.message_start);
    let end = leaves.iter().fold(0, |end, leaf| {
        assert_eq!(leaf.message_start, end);
        leaf.message_end
    });
    assert!(end == caller.settled && end > 9_800, "{end}");
    let levels: Vec<usize> = (0..3).map(|level| caller.segments.iter().filter(|s| s.level == level).count()).collect();
    assert!(levels[0] >= 200 && levels[1] == levels[0] / 10 && levels[2] == levels[1] / 10, "{levels:?}");
}
