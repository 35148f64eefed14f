/**
 * Differences of two jobs in spec, code and packages; loaded when the section is opened.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../api/engine.js';
import { errorText } from '../api/engine.js';
import { visible } from '../api/wire.js';
import type { IDifferences, IFileDifference } from './differences.js';
import { parseDifferences } from './differences.js';
import { Collapsible, CompareTable } from './table.js';

interface IProps {
  readonly engine: IEngine;
  readonly trans: TranslationBundle;
  /** The ids of the two jobs. */
  readonly jobIds: readonly string[];
  /** The names of the jobs. */
  readonly labels: readonly string[];
}

export function Difference(props: IProps): React.JSX.Element {
  return (
    <Collapsible title={props.trans.__('Differences in code and packages')}>
      {() => <LoadedDifference {...props} />}
    </Collapsible>
  );
}

function LoadedDifference({ engine, trans, jobIds, labels }: IProps): React.JSX.Element {
  const [difference, setDifference] = React.useState<IDifferences | null>(null);
  const [error, setError] = React.useState('');
  const [job = '', other = ''] = jobIds;
  React.useEffect(() => {
    engine.call('diff', { job, other }).then(
      response => setDifference(parseDifferences(response)),
      (error: unknown) => setError(errorText(error))
    );
  }, [engine, job, other]);
  if (!difference) {
    return <p className={error && 'jp-pai-Job-trouble'}>{error || trans.__('Comparing…')}</p>;
  }
  const { files } = difference;
  // Hyperparameters are shown above.
  const values = difference.values.filter(({ name }) => !name.startsWith('hyperparameters.'));
  return (
    <>
      {!values.length && !files.length && <p>{trans.__('No differences.')}</p>}
      {values.length > 0 && (
        <CompareTable
          label={trans.__('Differences')}
          heads={labels}
          rows={values.map(({ name, a, b }) => ({ name, cells: [a, b] }))}
        />
      )}
      {files.map(file => (
        <File key={file.path} file={file} trans={trans} />
      ))}
    </>
  );
}

function File({ file, trans }: { file: IFileDifference; trans: TranslationBundle }): React.JSX.Element {
  const labels = {
    added: trans.__('only in the second'),
    removed: trans.__('only in the first'),
    changed: trans.__('changed')
  };
  return (
    <div className="jp-pai-Compare-file">
      <code>{visible(file.path)}</code> {labels[file.change]} {file.why && `(${file.why})`}
      {file.lines.length > 0 && (
        <pre tabIndex={0} aria-label={file.path}>
          {file.lines.map((line, i) => (
            <span key={i} data-sign={line[0]}>{`${line}\n`}</span>
          ))}
        </pre>
      )}
    </div>
  );
}
