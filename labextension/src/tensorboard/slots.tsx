/**
 * The running TensorBoards when all slots of the platform are in use: one of them can be replaced.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import type { IPlatformBoard } from './platformboards.js';

interface IProps extends IContext {
  readonly occupied: readonly IPlatformBoard[];
  readonly replace: (board: IPlatformBoard) => void;
}

export function OccupiedSlots({ occupied, replace, host, trans }: IProps): React.JSX.Element {
  const id = React.useId();
  const confirm = async (board: IPlatformBoard) => {
    const question = {
      title: trans.__('Stop TensorBoard %1?', board.name),
      text: trans.__(
        'Current viewers are disconnected, and it may belong to another user. A TensorBoard for this job starts in its slot.'
      ),
      yes: trans.__('Stop it and start one for this job'),
      warn: true
    };
    if (await host.confirm(question)) {
      replace(board);
    }
  };
  return (
    <div className="jp-pai-TensorBoard-full">
      <p role="alert" className="jp-pai-TensorBoard-trouble">
        {trans.__('All TensorBoard slots on the platform are in use. Stop one of these to start one for this job:')}
      </p>
      <ul>
        {occupied.map(board => (
          <li key={board.id}>
            <span id={`${id}-${board.id}`}>{[board.name, board.user, board.id].filter(Boolean).join(' · ')}</span>
            <button
              type="button"
              className="jp-mod-styled"
              aria-describedby={`${id}-${board.id}`}
              onClick={() => void confirm(board)}
            >
              {trans.__('Stop it and start one for this job')}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
