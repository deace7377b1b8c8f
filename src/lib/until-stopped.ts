/** Connections by undici, of which a stop waits for none. */
import type { buildConnector } from 'undici';

/** Code of the error where a connection was not there when the service stopped. */
export const NOT_CONNECTED = 'KGRID_STOPPING';

/** Connects by `connect`, and gives up on what is not there when `stopped` is aborted. */
export const untilStopped =
  (connect: buildConnector.connector, stopped: AbortSignal): buildConnector.connector =>
  (options, callback) => {
    const giveUp = (): void => settle(Object.assign(new Error('The service stops'), { code: NOT_CONNECTED }), null);
    let isSettled = false;
    const settle: buildConnector.Callback = (...result) => {
      if (isSettled) return void result[1]?.destroy();
      isSettled = true;
      stopped.removeEventListener('abort', giveUp);
      callback(...result);
    };
    if (stopped.aborted) return setImmediate(giveUp);
    stopped.addEventListener('abort', giveUp);
    connect(options, settle);
  };
