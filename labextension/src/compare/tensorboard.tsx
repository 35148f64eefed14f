/**
 * A TensorBoard for several jobs.
 */

import * as React from 'react';

import type { IBoard } from '../tensorboard/boards.js';
import { boardUrl, parseBoard } from '../tensorboard/boards.js';
import type { IContext } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useTask } from '../ui/hooks.js';

interface IProps extends IContext {
  readonly jobIds: readonly string[];
  /** True if none of the jobs has metrics or event files. */
  readonly isEmpty: boolean;
}

/** A button that starts or finds the TensorBoard of these jobs and shows it. */
export function CompareBoard(props: IProps): React.JSX.Element | null {
  const { engine, host, trans, jobIds, isEmpty } = props;
  const id = React.useId();
  const [board, setBoard] = React.useState<IBoard | null>(null);
  const task = useTask();
  const start = async () => {
    const started = parseBoard(await engine.call('start_tensorboard', {}, { jobs: jobIds }));
    setBoard(started);
    if (started) {
      host.openPage?.(`TensorBoard: ${started.jobs.map(job => job.name).join(', ')}`, started.path);
    }
  };
  const link = board && boardUrl(engine, board);
  return (
    <div className="jp-pai-Compare-board">
      <button
        type="button"
        className="jp-mod-styled"
        disabled={task.isBusy || isEmpty}
        aria-describedby={isEmpty ? id : undefined}
        onClick={() => task.run(start)}
      >
        {trans.__('Compare in TensorBoard')}
      </button>{' '}
      {isEmpty && <span id={id}>{trans.__('These jobs have no metrics for TensorBoard.')}</span>}
      {link && (
        <a href={link} target="_blank" rel="noopener" className="jp-pai-TensorBoard-link">
          {trans.__('Open in a new window')}
        </a>
      )}
      <span role="status">{task.isBusy && trans.__('Starting…')}</span>
      <ErrorMessage error={task.error} />
    </div>
  );
}
