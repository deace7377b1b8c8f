// National Early Warning Score 2: Royal College of Physicians. National Early Warning Score (NEWS) 2: Standardising
// the assessment of acute-illness severity in the NHS. London: RCP, 2017.
'use strict';

// Each scale lists [highest value of the band, points], in rising order.
const RESPIRATORY_RATE = [
  [8, 3],
  [11, 1],
  [20, 0],
  [24, 2],
  [Infinity, 3],
];
const SPO2_SCALE_1 = [
  [91, 3],
  [93, 2],
  [95, 1],
  [Infinity, 0],
];
const SPO2_SCALE_2_ON_AIR = [
  [83, 3],
  [85, 2],
  [87, 1],
  [Infinity, 0],
];
const SPO2_SCALE_2_ON_OXYGEN = [
  [83, 3],
  [85, 2],
  [87, 1],
  [92, 0],
  [94, 1],
  [96, 2],
  [Infinity, 3],
];
const SYSTOLIC = [
  [90, 3],
  [100, 2],
  [110, 1],
  [219, 0],
  [Infinity, 3],
];
const PULSE = [
  [40, 3],
  [50, 1],
  [90, 0],
  [110, 1],
  [130, 2],
  [Infinity, 3],
];
const TEMPERATURE = [
  [35, 3],
  [36, 1],
  [38, 0],
  [39, 1],
  [Infinity, 2],
];

const pointsOn = (scale, value) => scale.find(([highest]) => value <= highest)[1];

function whole(input, field, unit, low, high) {
  const value = input?.[field];
  if (!Number.isInteger(value) || value < low || value > high) {
    throw invalidInput(`${field} must be a whole number in ${unit} from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
}

function yesOrNo(input, field) {
  if (typeof input[field] !== 'boolean') throw invalidInput(`${field} must be true or false`);
  return input[field];
}

function temperatureOf(input) {
  const value = input.temperature;
  if (typeof value !== 'number' || !(value >= 25 && value <= 45)) {
    throw invalidInput(`temperature must be a number in degrees Celsius from 25 to 45 (got ${JSON.stringify(value)})`);
  }
  return Math.round(value * 10) / 10; // the chart's bands are 0.1 degrees apart
}

function consciousnessPoints(input) {
  if (!['A', 'C', 'V', 'P', 'U'].includes(input.consciousness)) {
    throw invalidInput('consciousness must be A (alert), C (new confusion), V (voice), P (pain) or U (unresponsive)');
  }
  return input.consciousness === 'A' ? 0 : 3;
}

function riskOf(score, points) {
  if (score >= 7) return 'high';
  if (score >= 5) return 'medium';
  // "3 in any individual parameter" asks for an urgent review by itself.
  return Object.values(points).includes(3) ? 'low-medium' : 'low';
}

module.exports = function news2(input) {
  const respiratoryRate = whole(input, 'respiratoryRate', 'breaths/min', 0, 100);
  const saturation = whole(input, 'oxygenSaturation', '%', 30, 100);
  const systolic = whole(input, 'systolicBloodPressure', 'mmHg', 0, 350);
  const pulse = whole(input, 'pulse', 'beats/min', 0, 350);
  const onOxygen = yesOrNo(input, 'supplementalOxygen');
  // Scale 2 is for confirmed hypercapnic respiratory failure with a target saturation of 88-92 %.
  const scale2 =
    input.hypercapnicRespiratoryFailure === undefined ? false : yesOrNo(input, 'hypercapnicRespiratoryFailure');
  const saturationScale = scale2 ? (onOxygen ? SPO2_SCALE_2_ON_OXYGEN : SPO2_SCALE_2_ON_AIR) : SPO2_SCALE_1;

  const points = {
    respiratoryRate: pointsOn(RESPIRATORY_RATE, respiratoryRate),
    oxygenSaturation: pointsOn(saturationScale, saturation),
    supplementalOxygen: onOxygen ? 2 : 0,
    systolicBloodPressure: pointsOn(SYSTOLIC, systolic),
    pulse: pointsOn(PULSE, pulse),
    consciousness: consciousnessPoints(input),
    temperature: pointsOn(TEMPERATURE, temperatureOf(input)),
  };
  const score = Object.values(points).reduce((sum, value) => sum + value, 0);
  return { score, risk: riskOf(score, points), points };
};

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
