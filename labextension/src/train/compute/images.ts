/**
 * Parser and filters of images.
 */

import { list, number, record, string, strings } from '../../api/wire.js';

/** An image; unknown facts are empty. `accelerator` is CPU or GPU, `modes` names training modes. */
export interface IImage {
  readonly uri: string;
  readonly name: string;
  readonly framework: string;
  readonly version: string;
  readonly accelerator: string;
  readonly python: string;
  readonly cuda: string;
  readonly modes: string;
  readonly description: string;
}

/** `leftOut` is the number of images hidden by the administrator. */
export interface IImages {
  readonly images: readonly IImage[];
  readonly hiddenCount: number;
}

/** Filters of images; empty ones match all. */
export interface IImageFilters {
  readonly text: string;
  readonly framework: string;
  readonly version: string;
  readonly accelerator: string;
}

export function parseImages(value: unknown): IImages {
  const response = record(value);
  const images = list(response['images']).map(item => {
    const data = record(item);
    return {
      uri: string(data['uri']),
      name: string(data['name']),
      framework: string(data['framework']),
      version: string(data['version']),
      accelerator: string(data['accelerator']),
      python: string(data['python']),
      cuda: string(data['cuda']),
      modes: strings(data['modes']).join(', '),
      description: string(data['description'])
    };
  });
  return { images: images.filter(image => image.uri), hiddenCount: number(response['left_out']) ?? 0 };
}

/** Return the images that match framework, version (or its prefix), accelerator, and all words of a text. */
export function filterImages(
  images: readonly IImage[],
  { text, framework, version, accelerator }: IImageFilters
): readonly IImage[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return images.filter(image => {
    const text = Object.values(image).join(' ').toLowerCase();
    return (
      (!framework || image.framework === framework) &&
      (!version || image.version === version || image.version.startsWith(`${version}.`)) &&
      (!accelerator || image.accelerator === accelerator) &&
      words.every(word => text.includes(word))
    );
  });
}

/** Return the values of a filter, sorted. */
export function choices(images: readonly IImage[], of: (image: IImage) => string): readonly string[] {
  const byName = new Intl.Collator('en', { numeric: true }).compare;
  return [...new Set(images.map(of))].filter(Boolean).sort(byName);
}
