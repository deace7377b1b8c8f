/** Which nodes live, as conditions of SQL on rows of `node`. */

/** Seconds after which a node without a sign of life is not waited for. */
export const LIVE_FOR_S = 5;
/** Seconds of a silence of all, as where the database was away, that are not held against a node. */
const LONGEST_SILENCE_S = 60;

const LIVE_FOR = `interval '${String(LIVE_FOR_S)} seconds'`;

export const LIVES = `heartbeat > clock_timestamp() - ${LIVE_FOR}`;

/**
 * Lives, or did when the database was heard of last: where it was away, no node could give a sign of life, and all may be
 * back a moment later. A node that was silent itself cannot tell, for as long as the others have to be heard again.
 */
export const mayLive = (schema: string): string => `heartbeat > (SELECT
  greatest(
    clock_timestamp() - interval '${String(LONGEST_SILENCE_S)} seconds',
    least(max(heartbeat), min(heard_until) FILTER (WHERE heard_again > clock_timestamp() - ${LIVE_FOR}))
  ) - ${LIVE_FOR} FROM ${schema}.node)`;
