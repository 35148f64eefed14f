/**
 * Submitting a request: check it, transfer its inputs, submit it.
 */

import { agreed } from '../api/confirm.js';
import type { IJob, Json } from '../api/wire.js';
import { parseJob, record } from '../api/wire.js';
import type { ICopy } from '../outputs/model.js';
import { isUnderWay, parseCopy } from '../outputs/model.js';
import type { IContext } from '../ui/context.js';

/** The current stage. `copy` is the progress of the inputs. */
export interface IStage {
  readonly what: 'saving' | 'checking' | 'bringing' | 'submitting';
  readonly copy?: ICopy;
}

// Milliseconds between two polls of a transfer.
const EVERY = 300;

/**
 * Submit a request, at most once per key.
 *
 * @param tell - called with each stage.
 * @param signal - cancels the submit if it is not complete.
 * @returns the job; null if the user declined or cancelled.
 */
export async function launch(
  { engine, host, trans }: IContext,
  request: Json,
  key: string,
  tell: (stage: IStage) => void,
  signal: AbortSignal
): Promise<IJob | null> {
  // Each click submits a new job, while an unchanged cell would attach to its last one.
  const body = { ...request, key, attach: false };
  const call = async (confirmed: boolean) => {
    const asked = { ...body, confirmed };
    tell({ what: 'checking' });
    const staged = hasInputs(request) ? await bring(engine, asked, tell, signal) : '';
    if (staged === null || signal.aborted) {
      return null;
    }
    tell({ what: 'submitting' });
    return await engine.call('submit', {}, { ...asked, staged });
  };
  const question = { title: trans.__('Submit job?'), yes: trans.__('Submit'), warn: true };
  const answer = await agreed(call, text => host.confirm({ ...question, text }));
  return answer === null ? null : parseJob(record(answer)['job']);
}

function hasInputs(request: Json): boolean {
  return Object.keys(record(record(request['spec'])['inputs'])).length > 0;
}

/** Transfer the inputs to the platform; return the id of the staged plan, null if cancelled. */
async function bring(
  engine: IContext['engine'],
  request: Json,
  tell: (stage: IStage) => void,
  signal: AbortSignal
): Promise<string | null> {
  let copy = parseCopy(await engine.call('bring', {}, request));
  let isEnded = false;
  while (isUnderWay(copy)) {
    tell({ what: 'bringing', copy });
    if (signal.aborted && !isEnded) {
      isEnded = true;
      await engine.call('cancel_copy', { copy: copy.id });
    }
    await pause(signal);
    copy = parseCopy(await engine.call('copy', { copy: copy.id }));
  }
  if (copy.status === 'failed') {
    throw new Error(copy.trouble);
  }
  return copy.status === 'done' && !signal.aborted ? copy.id : null;
}

/** Wait for a moment, or until the signal is aborted. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, EVERY);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    if (!signal.aborted) {
      signal.addEventListener('abort', end, { once: true });
    }
  });
}
