/**
 * Confirmation of calls that cost money. The engine's message is the question.
 */

import { EngineError } from './engine.js';

/**
 * Return the result of `call`; null if the user declines.
 *
 * @param call - makes the call; repeated with `confirmed` once the user agrees.
 * @param ask - asks the user to confirm the engine's message.
 */
export async function withConfirmation<T>(
  call: (confirmed: boolean) => Promise<T>,
  confirm: (text: string) => Promise<boolean>
): Promise<T | null> {
  try {
    return await call(false);
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'Unconfirmed')) {
      throw error;
    }
    return (await confirm(error.message)) ? call(true) : null;
  }
}
