/**
 * Submitting a request: check it, transfer its inputs, submit it.
 */

import { withConfirmation } from '../api/confirm.js';
import type { ITransfer } from '../api/transfer.js';
import { isActive, parseTransfer } from '../api/transfer.js';
import type { IJob, Json } from '../api/wire.js';
import { parseJob, record, string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import { withLabels } from '../ui/messagetext.js';

/** The current stage. `transfer` is the progress of the inputs, `wait` what the submit waits for. */
export interface IStage {
  readonly name: 'saving' | 'checking' | 'bringing' | 'submitting';
  readonly transfer?: ITransfer;
  readonly wait?: string;
}

// Milliseconds between two polls of a transfer.
const POLL_INTERVAL = 300;
// Milliseconds between two looks at what a submit waits for.
const WAIT_INTERVAL = 5000;

/**
 * Submit a request, at most once per key.
 *
 * @param setStage - called with each stage.
 * @param signal - cancels the submit if it is not complete.
 * @returns the job; null if the user declined or cancelled.
 */
export async function submitJob(
  { engine, host, trans }: IContext,
  request: Json,
  key: string,
  setStage: (stage: IStage) => void,
  signal: AbortSignal
): Promise<IJob | null> {
  // Each click submits a new job, while an unchanged cell would attach to its last one.
  const body = { ...request, key, attach: false };
  const call = async (confirmed: boolean) => {
    const parameters = { ...body, confirmed };
    setStage({ name: 'checking' });
    const staged = hasInputs(request) ? await transferInputs(engine, parameters, setStage, signal) : '';
    if (staged === null || signal.aborted) {
      return null;
    }
    setStage({ name: 'submitting' });
    return await tellingWaits(engine, key, engine.call('submit', {}, { ...parameters, staged }), setStage);
  };
  const question = { title: trans.__('Submit job?'), yes: trans.__('Submit'), warn: true };
  const response = await withConfirmation(call, text => host.confirm({ ...question, text: withLabels(text, trans) }));
  return response === null ? null : parseJob(record(response)['job']);
}

function hasInputs(request: Json): boolean {
  return Object.keys(record(record(request['spec'])['inputs'])).length > 0;
}

/** Return the outcome of a submit. Meanwhile, every five seconds, tell what it waits for: the reason of its job. */
async function tellingWaits(
  engine: IContext['engine'],
  key: string,
  submitted: Promise<unknown>,
  setStage: (stage: IStage) => void
): Promise<unknown> {
  let isOver = false;
  const tell = async () => {
    const found = await engine.call('find_submit', { key }).catch(() => null);
    const wait = string(record(record(found)['job'])['reason']);
    if (wait && !isOver) {
      setStage({ name: 'submitting', wait });
    }
  };
  const timer = setInterval(() => void tell(), WAIT_INTERVAL);
  try {
    return await submitted;
  } finally {
    isOver = true;
    clearInterval(timer);
  }
}

/** Transfer the inputs to the platform; return the id of the staged plan, null if cancelled. */
async function transferInputs(
  engine: IContext['engine'],
  request: Json,
  setStage: (stage: IStage) => void,
  signal: AbortSignal
): Promise<string | null> {
  let transfer = parseTransfer(await engine.call('bring', {}, request));
  let isCancelled = false;
  while (isActive(transfer)) {
    setStage({ name: 'bringing', transfer });
    if (signal.aborted && !isCancelled) {
      isCancelled = true;
      await engine.call('cancel_copy', { copy: transfer.id });
    }
    await pause(signal);
    transfer = parseTransfer(await engine.call('copy', { copy: transfer.id }));
  }
  if (transfer.status === 'failed') {
    throw new Error(transfer.error);
  }
  return transfer.status === 'done' && !signal.aborted ? transfer.id : null;
}

/** Wait for a moment, or until the signal is aborted. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, POLL_INTERVAL);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    if (!signal.aborted) {
      signal.addEventListener('abort', end, { once: true });
    }
  });
}
