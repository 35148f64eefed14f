/**
 * Files that the browser makes: CSV and pictures.
 */

/** Let the user save a file. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // Not at once: the browser has only been asked.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** One line of a picture's legend. */
export interface IKey {
  readonly label: string;
  readonly color: string;
  readonly dash: readonly number[];
}

const ROW = 18;

/** A chart as PNG: with a title, a legend and a background, as it looks in `node`. */
export async function pngOf(
  canvas: HTMLCanvasElement,
  node: Element,
  title: string,
  keys: readonly IKey[]
): Promise<Blob> {
  const ratio = canvas.width / (canvas.clientWidth || canvas.width);
  const picture = document.createElement('canvas');
  const top = (keys.length + 1) * ROW + 8;
  picture.width = canvas.width;
  picture.height = canvas.height + top * ratio;
  const ctx = picture.getContext('2d');
  if (!ctx) {
    throw new Error('no canvas');
  }
  const style = getComputedStyle(node);
  ctx.fillStyle = style.getPropertyValue('--jp-layout-color1') || 'white';
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.drawImage(canvas, 0, top * ratio);
  ctx.scale(ratio, ratio);
  ctx.textBaseline = 'middle';
  ctx.fillStyle = style.getPropertyValue('--jp-ui-font-color0') || 'black';
  ctx.font = `bold 13px ${style.fontFamily}`;
  ctx.fillText(title, 8, ROW / 2 + 4);
  ctx.font = `12px ${style.fontFamily}`;
  keys.forEach(({ label, color, dash }, i) => {
    const y = (i + 1.5) * ROW + 4;
    ctx.fillText(label, 46, y);
    ctx.strokeStyle = color;
    ctx.setLineDash([...dash]);
    ctx.beginPath();
    ctx.moveTo(8, y);
    ctx.lineTo(38, y);
    ctx.stroke();
  });
  return new Promise((resolve, reject) =>
    picture.toBlob(blob => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png')
  );
}
