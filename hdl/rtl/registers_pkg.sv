// Generated from regs/module.rdl by regs/regs.py; make changes there.
//
// What the host writes (settings_t) and reads (values_t) through registers, with a struct for each group of
// fields. The meaning of each field is in docs/fpga-reference.md.
package registers_pkg;
  import tare_pkg::*;
  import generator_pkg::*;

  // Constants, for the answer to hello.
  localparam logic [31:0] Magic = 32'h54415245;
  localparam logic [31:0] Layout = 32'h6bfa7c40;

  // A read or a write. Addresses are in bytes.
  typedef struct packed {
    logic        write;
    logic        read;
    logic [12:0] address;
    logic [31:0] data;
  } register_ask_t;

  // `valid` marks the answer to a read. `unknown` is also valid one cycle after a write: the address cannot be
  // read, or written.
  typedef struct packed {
    logic        valid;
    logic        unknown;
    logic [31:0] data;
  } register_answer_t;

  typedef struct packed {
    logic live;
    logic run;
    logic forget;
    logic gap_set;
    logic clear;
  } control_t;

  typedef struct packed {
    logic gaps_from_list;
    from_e from;
    from_e first_from;
    logic [63:0] first_time;
    logic [11:0] last_entry;
    logic [31:0] frames;
    logic [31:0] gap_whole;
    logic [31:0] gap_numerator;
    logic [31:0] gap_denominator;
  } generator_t;

  typedef struct packed {
    logic ns_set;
    logic ns_step;
    logic capture;
    logic [7:0] ns_whole;
    logic [31:0] ns_fraction;
    logic [63:0] ns_value;
  } clock_t;

  typedef struct packed {
    memory_e which;
    logic [15:0] address;
    logic address_write;
    logic [31:0] data;
    logic data_write;
  } memory_t;

  typedef struct packed {
    logic [7:0] at;
    logic enable;
  } rule_place_t;

  typedef struct packed {
    logic [15:0] value;
    logic [15:0] mask;
  } rule_value_t;

  typedef struct packed {
    logic signed_;
    logic [7:0] signature_at;
    logic [31:0] gap_reference;
    rule_place_t [3:0] rule_place;
    rule_value_t [3:0] rule_value;
  } listen_t;

  typedef struct packed {
    logic [9:0] at;
    logic [1:0] what;
    logic ask;
  } figure_t;

  typedef struct packed {
    logic departures;
    logic received;
    logic [31:0] patience;
  } link_t;

  typedef struct packed {
    control_t control;
    generator_t generator;
    clock_t clock;
    memory_t memory;
    listen_t listen;
    figure_t figure;
    link_t link;
  } settings_t;

  typedef struct packed {
    logic idle;
    logic forgetting;
    logic [31:0] forgotten;
    logic [63:0] latest;
  } status_t;

  typedef struct packed {
    logic [63:0] time_;
    logic [63:0] tick;
  } captured_t;

  typedef struct packed {
    logic [31:0] build;
    logic status_wire;
    logic [31:0] read_data;
    logic read_state_done;
    status_t status;
    captured_t captured;
  } values_t;

endpackage
