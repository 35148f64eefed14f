/**
 * A preview of a job's file. No content is executed: text is shown as text, and images in an `img` element.
 */

import * as React from 'react';

import { errorText } from '../api/engine.js';
import type { ITabProps } from '../ui/context.js';
import { size } from '../ui/format.js';
import type { IFileText, IOutputFile } from './model.js';
import { formatJson, kindOf, parseText } from './model.js';

interface IProps extends ITabProps {
  readonly channel: string;
  readonly file: IOutputFile;
}

export function Preview(props: IProps): React.JSX.Element {
  const { engine, model, channel, file } = props;
  // The URL contains the modification time, so that a changed image is loaded again.
  const url =
    kindOf(file.path) === 'image'
      ? engine.url('file', { job: model.jobId, channel, path: file.path, written: file.modified })
      : null;
  return url === null ? <Text {...props} /> : <Picture {...props} key={url} url={url} />;
}

function Picture({ trans, file, url }: IProps & { url: string }): React.JSX.Element {
  const [isBroken, setBroken] = React.useState(false);
  return isBroken ? (
    <p className="jp-pai-Outputs-note">{trans.__('The browser cannot display this image.')}</p>
  ) : (
    <img className="jp-pai-Preview-picture" src={url} alt={file.path} onError={() => setBroken(true)} />
  );
}

function Text(props: IProps): React.JSX.Element {
  const { trans, file } = props;
  const preview = useText(props);
  const kind = kindOf(file.path);
  if (preview === null) {
    return <p className="jp-pai-Outputs-note">{trans.__('Loading…')}</p>;
  }
  if (typeof preview === 'string') {
    return <p className="jp-pai-Job-trouble">{preview}</p>;
  }
  if (preview.binary) {
    return <p className="jp-pai-Outputs-note">{trans.__('Binary file (%1).', size(preview.bytes))}</p>;
  }
  return (
    <>
      {kind === 'page' && (
        <p className="jp-pai-Outputs-note">{trans.__('HTML is shown as source. Nothing in it runs.')}</p>
      )}
      <pre className="jp-pai-Preview-text" tabIndex={0} aria-label={file.path}>
        {kind === 'json' && preview.whole ? formatJson(preview.text) : preview.text}
      </pre>
      {!preview.whole && (
        <p className="jp-pai-Outputs-note">{trans.__('Preview truncated. File size: %1.', size(preview.bytes))}</p>
      )}
    </>
  );
}

/**
 * Return the text of a file, loaded again when the file changes; null until loaded, a string with the error message on
 * failure.
 */
function useText({ engine, model, isVisible, channel, file }: IProps): IFileText | string | null {
  const [preview, setPreview] = React.useState<IFileText | string | null>(null);
  const { path, modified, bytes } = file;
  const job = model.jobId;
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    let isStale = false;
    const update = (text: IFileText | string) => isStale || setPreview(text);
    engine.call('peek', { job, channel, path }).then(
      value => update(parseText(value)),
      (error: unknown) => update(errorText(error))
    );
    return () => {
      isStale = true;
    };
  }, [engine, job, isVisible, channel, path, modified, bytes]);
  return preview;
}
