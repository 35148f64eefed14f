/**
 * From a request to a job: save what is not saved, bring the inputs to where the job runs, submit.
 */

import { agreed } from '../api/confirm.js';
import type { IJob, Json } from '../api/wire.js';
import { parseJob, record } from '../api/wire.js';
import type { ICopy } from '../outputs/model.js';
import { isUnderWay, parseCopy } from '../outputs/model.js';
import type { IContext } from '../ui/context.js';

/** What is being done just now. `copy` is how far the inputs are. */
export interface IStage {
  readonly what: 'saving' | 'checking' | 'bringing' | 'submitting';
  readonly copy?: ICopy;
}

// Milliseconds between two looks at a copy.
const EVERY = 300;

/**
 * Submit a request once, however often it is asked with this key.
 *
 * @param tell - what is done now.
 * @param signal - aborted, it ends what has not been submitted yet.
 * @returns the job; null where the user did not want to, or has ended it.
 */
export async function launch(
  { engine, host, trans }: IContext,
  request: Json,
  key: string,
  tell: (stage: IStage) => void,
  signal: AbortSignal
): Promise<IJob | null> {
  // Each press of the button is to make a job, also where a cell would have found its last one.
  const body = { ...request, key, attach: false };
  const call = async (confirmed: boolean) => {
    const asked = { ...body, confirmed };
    tell({ what: 'checking' });
    if (hasInputs(request) && !(await bring(engine, asked, tell, signal))) {
      return null;
    }
    tell({ what: 'submitting' });
    return signal.aborted ? null : await engine.call('submit', {}, asked);
  };
  const question = { title: trans.__('Submit job?'), yes: trans.__('Submit'), warn: true };
  const answer = await agreed(call, text => host.confirm({ ...question, text }));
  return answer === null ? null : parseJob(record(answer)['job']);
}

function hasInputs(request: Json): boolean {
  return Object.keys(record(record(request['spec'])['inputs'])).length > 0;
}

/** Bring inputs to where the job runs; whether all are there. */
async function bring(
  engine: IContext['engine'],
  request: Json,
  tell: (stage: IStage) => void,
  signal: AbortSignal
): Promise<boolean> {
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
  return copy.status === 'done' && !signal.aborted;
}

/** A moment; over at once when the signal is aborted meanwhile. */
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
