/**
 * The TensorBoards that run where a platform lets no more of them run: one of them can make room.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import type { IPlatformBoard } from './platformboards.js';

interface IProps extends IContext {
  readonly occupants: readonly IPlatformBoard[];
  readonly replace: (board: IPlatformBoard) => void;
}

export function Occupants({ occupants, replace, host, trans }: IProps): React.JSX.Element {
  const id = React.useId();
  const ask = async (board: IPlatformBoard) => {
    const question = {
      title: trans.__('Stop the TensorBoard %1?', board.name),
      text: trans.__(
        'Whoever looks at it cannot go on, and it may be of another person. In its place the one of this job starts.'
      ),
      yes: trans.__('Stop it and start the one of this job'),
      warn: true
    };
    if (await host.confirm(question)) {
      replace(board);
    }
  };
  return (
    <div className="jp-pai-TensorBoard-full">
      <p role="alert" className="jp-pai-TensorBoard-trouble">
        {trans.__('No more TensorBoards may run on the platform. Stop one of these, and the one of this job starts:')}
      </p>
      <ul>
        {occupants.map(board => (
          <li key={board.id}>
            <span id={`${id}-${board.id}`}>{[board.name, board.user, board.id].filter(Boolean).join(' · ')}</span>
            <button
              type="button"
              className="jp-mod-styled"
              aria-describedby={`${id}-${board.id}`}
              onClick={() => void ask(board)}
            >
              {trans.__('Stop it and start the one of this job')}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
