/**
 * Differences of two jobs in spec, code and packages; loaded when the section is opened.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../api/engine.js';
import type { IDifferences, IFileDifference } from './differences.js';
import { parseDifferences } from './differences.js';
import { CompareTable, Folded } from './table.js';

interface IProps {
  readonly engine: IEngine;
  readonly trans: TranslationBundle;
  /** The ids of the two jobs. */
  readonly jobIds: readonly string[];
  /** The names of the jobs. */
  readonly labels: readonly string[];
}

export function Difference(props: IProps): React.JSX.Element {
  return <Folded title={props.trans.__('Differences in code and packages')}>{() => <Found {...props} />}</Folded>;
}

function Found({ engine, trans, jobIds, labels }: IProps): React.JSX.Element {
  const [found, setFound] = React.useState<IDifferences | null>(null);
  const [trouble, setTrouble] = React.useState('');
  const [job = '', other = ''] = jobIds;
  React.useEffect(() => {
    engine.call('diff', { job, other }).then(
      answer => setFound(parseDifferences(answer)),
      (error: unknown) => setTrouble(error instanceof Error ? error.message : String(error))
    );
  }, [engine, job, other]);
  if (!found) {
    return <p className={trouble && 'jp-pai-Job-trouble'}>{trouble || trans.__('Comparing…')}</p>;
  }
  const { files } = found;
  // Hyperparameters are shown above.
  const values = found.values.filter(({ name }) => !name.startsWith('hyperparameters.'));
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
  const words = {
    added: trans.__('only in the second'),
    removed: trans.__('only in the first'),
    changed: trans.__('changed')
  };
  return (
    <div className="jp-pai-Compare-file">
      <code>{file.path}</code> {words[file.change]} {file.why && `(${file.why})`}
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
