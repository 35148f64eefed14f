/**
 * A preview of a job's file. No content is executed: text is shown as text, and images in an `img` element.
 */

import * as React from 'react';

import type { ITabProps } from '../ui/context.js';
import { size } from '../ui/format.js';
import type { IFileText, IOutputFile } from './model.js';
import { indented, kindOf, parseText, said } from './model.js';

interface IProps extends ITabProps {
  readonly channel: string;
  readonly file: IOutputFile;
}

export function Preview(props: IProps): React.JSX.Element {
  const { engine, model, channel, file } = props;
  // The URL contains the modification time, so that a changed image is loaded again.
  const address =
    kindOf(file.path) === 'image'
      ? engine.address('file', { job: model.jobId, channel, path: file.path, written: file.modified })
      : null;
  return address === null ? <Text {...props} /> : <Picture {...props} key={address} address={address} />;
}

function Picture({ trans, file, address }: IProps & { address: string }): React.JSX.Element {
  const [isBroken, breakIt] = React.useState(false);
  return isBroken ? (
    <p className="jp-pai-Outputs-note">{trans.__('The browser cannot display this image.')}</p>
  ) : (
    <img className="jp-pai-Preview-picture" src={address} alt={file.path} onError={() => breakIt(true)} />
  );
}

function Text(props: IProps): React.JSX.Element {
  const { trans, file } = props;
  const found = useText(props);
  const kind = kindOf(file.path);
  if (found === null) {
    return <p className="jp-pai-Outputs-note">{trans.__('Loading…')}</p>;
  }
  if (typeof found === 'string') {
    return <p className="jp-pai-Job-trouble">{found}</p>;
  }
  if (found.binary) {
    return <p className="jp-pai-Outputs-note">{trans.__('Binary file (%1).', size(found.bytes))}</p>;
  }
  return (
    <>
      {kind === 'page' && (
        <p className="jp-pai-Outputs-note">{trans.__('HTML is shown as source. Nothing in it runs.')}</p>
      )}
      <pre className="jp-pai-Preview-text" tabIndex={0} aria-label={file.path}>
        {kind === 'json' && found.whole ? indented(found.text) : found.text}
      </pre>
      {!found.whole && (
        <p className="jp-pai-Outputs-note">{trans.__('Preview truncated. File size: %1.', size(found.bytes))}</p>
      )}
    </>
  );
}

/**
 * Return the text of a file, loaded again when the file changes; null until loaded, a string with the error message on
 * failure.
 */
function useText({ engine, model, isVisible, channel, file }: IProps): IFileText | string | null {
  const [found, setFound] = React.useState<IFileText | string | null>(null);
  const { path, modified, bytes } = file;
  const job = model.jobId;
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    let isOver = false;
    const tell = (text: IFileText | string) => isOver || setFound(text);
    engine.call('peek', { job, channel, path }).then(
      value => tell(parseText(value)),
      (error: unknown) => tell(said(error))
    );
    return () => {
      isOver = true;
    };
  }, [engine, job, isVisible, channel, path, modified, bytes]);
  return found;
}
