/**
 * What costs money is done when the user has agreed to it: the engine's own words are the question, asked once.
 */

import { EngineError } from './engine.js';

/**
 * What `call` gives; null where the user was asked and does not want to.
 *
 * @param call - does it, once more with `confirmed` when the user has agreed.
 * @param ask - puts the engine's words to the user.
 */
export async function agreed<T>(
  call: (confirmed: boolean) => Promise<T>,
  ask: (text: string) => Promise<boolean>
): Promise<T | null> {
  try {
    return await call(false);
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'Unconfirmed')) {
      throw error;
    }
    return (await ask(error.message)) ? call(true) : null;
  }
}
