// Model ids. Inside this code, a model is its index in the front, which counts from 0. People, files, commands and
// addresses name a model by its id, which counts from 1.

/** The id of a model. The type keeps ids and indices apart. */
export type ModelId = number & { readonly isModelId: true };

/** The id of the model at this index. */
export function idOf(index: number): ModelId {
  return (index + 1) as ModelId;
}

/** The index of the model with this id. */
export function indexOf(id: ModelId): number {
  return id - 1;
}

/** Reads an id from an address; `NaN` if it is not a whole number. */
export function parseId(text: string): ModelId {
  return (/^\d+$/.test(text) ? Number(text) : NaN) as ModelId;
}
